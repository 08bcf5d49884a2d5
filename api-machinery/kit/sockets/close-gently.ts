/** Closes sockets so that the peer receives everything that was written. Closing a socket with unread bytes resets the
 *  connection, and so does a byte that arrives after the close; a reset discards what the peer has not received. */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** How long a peer that was sent the end may leave its side open without a sign of life, in ms. */
const LINGER_MS = 10_000;
/** How long a peer that sends all the time may do so, in ms. */
const LONGEST_LINGER_MS = 10 * 60_000;

/** Closes a socket whose side has been ended. Unless the peer has ended too, waits for it and discards what it sends. */
export function closeGently(socket: Duplex): void {
  if (socket.destroyed) return;
  if ((socket.readableEnded && socket.writableFinished) || !(socket instanceof Socket))
    return void socket.destroy();
  const close = (): void => void socket.destroy();
  const closeIfBoth = (): void => {
    if (socket.readableEnded && socket.writableFinished) close();
  };
  const timer = setTimeout(close, LINGER_MS);
  const longest = setTimeout(close, LONGEST_LINGER_MS);
  for (const each of [timer, longest]) each.unref();
  const isAlive = (): void => void timer.refresh();
  socket.on('data', isAlive).on('drain', isAlive);
  socket.once('end', closeIfBoth).once('finish', closeIfBoth);
  socket.once('close', () => {
    clearTimeout(timer);
    clearTimeout(longest);
  });
  socket.resume();
}
