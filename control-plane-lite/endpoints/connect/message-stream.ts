/** The messages of a WebSocket as a stream of their bytes, in both directions. Its end is that of the socket: the
 *  protocol has no half-close. It ends with the socket, whether that was closed or broken. */
import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

/** Returns the bytes of a message without a copy, unless it arrived in fragments. */
export function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

class MessageStream extends Duplex {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    super();
    this.#socket = socket;
    socket.on('message', (data) => {
      if (!this.push(bytesOf(data))) socket.pause();
    });
    socket.once('close', () => this.push(null));
    // Readers have received everything, and nothing written reaches the peer any more.
    this.once('end', () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.send(chunk, done);
  }

  /** The peer confirms that it has received everything before the close. */
  override _final(done: (error?: Error | null) => void): void {
    if (this.#socket.readyState === this.#socket.CLOSED) return done();
    this.#socket.once('close', () => done());
    this.#socket.close();
    // The confirmation is read after all else.
    this.#socket.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.terminate();
    done(error);
  }
}

/** @param socket paused since it was accepted, so that no message was missed */
export const createMessageStream = (socket: WebSocket): Duplex => new MessageStream(socket);
