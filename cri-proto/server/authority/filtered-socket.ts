/** A socket whose incoming HTTP/2 frames are corrected. */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createFrameFilter } from './frame-filter.ts';

class FilteredSocket extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    const filter = createFrameFilter();
    socket.on('data', (chunk: Uint8Array) => {
      const bytes = filter.feed(chunk);
      if (bytes.byteLength > 0 && !this.push(bytes)) socket.pause();
    });
    socket.once('end', () => this.push(null));
    socket.once('close', () => this.destroy());
    socket.on('error', (error) => this.destroy(error));
    // The server reads from its end; nothing else handles errors of this one.
    this.on('error', () => undefined);
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

/** Takes over the socket, which must be paused. */
export const filterSocket = (socket: Socket): Duplex => new FilteredSocket(socket);
