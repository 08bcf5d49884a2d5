/** What has arrived and was not read yet: pauses the socket while readers are slow, sends the peer's window updates, and
 *  tells when everything that was on its way has arrived. */
import type { Duplex } from 'node:stream';
import { INITIAL_WINDOW_BYTES } from './send-window.ts';

/** Unread bytes above which the socket is paused. */
const MAX_UNREAD_BYTES = 512 * 1024;
/** Unread bytes above which it is paused even if something is to be written; more than a kernel holds back. */
const MAX_UNREAD_TO_WRITE_BYTES = 8 * 1024 * 1024;
/** Consumed bytes after which a peer that maintains windows gets an update. */
const UPDATE_AFTER_BYTES = INITIAL_WINDOW_BYTES / 2;
/** Turns of the event loop without a byte after which nothing is on its way. */
const QUIET_TURNS = 2;
/** A peer that sends all the time has not gone. */
const MAX_TURNS = 200;

export interface Intake {
  received(bytes: number): void;
  consumed(streamId: number, bytes: number): void;
  /** Resolves once everything was received that the peer had sent. A write to a peer that has gone breaks the
   *  connection, and would discard what is not received yet. */
  quiet(): Promise<void>;
  /** Nothing is read any more: the socket is never paused again. */
  discard(): void;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function createIntake(socket: Duplex, sendUpdate: (streamId: number, delta: number) => void): Intake {
  let unreadBytes = 0;
  let receivedBytes = 0;
  let maxUnreadBytes = MAX_UNREAD_BYTES;
  let quieting: Promise<void> | undefined;
  const unacknowledged = new Map<number, number>();

  function owe(streamId: number, bytes: number): void {
    const total = (unacknowledged.get(streamId) ?? 0) + bytes;
    const isDue = total >= UPDATE_AFTER_BYTES;
    unacknowledged.set(streamId, isDue ? 0 : total);
    if (isDue) sendUpdate(streamId, total);
  }

  function limit(bytes: number): void {
    if (maxUnreadBytes === Number.POSITIVE_INFINITY) return;
    maxUnreadBytes = bytes;
    if (unreadBytes > maxUnreadBytes) socket.pause();
    else if (socket.isPaused()) socket.resume();
  }

  async function becomeQuiet(): Promise<void> {
    limit(MAX_UNREAD_TO_WRITE_BYTES);
    let quietTurns = 0;
    for (let turns = 0; turns < MAX_TURNS && quietTurns < QUIET_TURNS; turns += 1) {
      if (socket.destroyed || socket.readableEnded || socket.isPaused()) break;
      const before = receivedBytes;
      await turn();
      quietTurns = receivedBytes === before ? quietTurns + 1 : 0;
    }
    limit(MAX_UNREAD_BYTES);
    quieting = undefined;
  }

  return {
    received(bytes) {
      unreadBytes += bytes;
      receivedBytes += bytes;
      if (unreadBytes > maxUnreadBytes) socket.pause();
    },
    consumed(streamId, bytes) {
      unreadBytes -= bytes;
      if (unreadBytes <= maxUnreadBytes / 2 && socket.isPaused()) socket.resume();
      owe(streamId, bytes);
      owe(0, bytes);
    },
    quiet() {
      quieting ??= becomeQuiet();
      return quieting;
    },
    discard() {
      maxUnreadBytes = Number.POSITIVE_INFINITY;
      socket.resume();
    },
  };
}
