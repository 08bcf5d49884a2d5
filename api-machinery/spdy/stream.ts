/** One stream of a SPDY connection. Holds the states of its two halves; the connection transfers the
 *  frames. */
import { type ByteQueue, createByteQueue } from './byte-queue.ts';
import { SpdyStreamError } from './errors.ts';
import { RST_CANCEL, type SpdyFrame } from './frames.ts';
import type { SpdyHeaders } from './headers.ts';
import { createSendWindow, type SendWindow } from './send-window.ts';

export interface SpdyStream {
  readonly id: number;
  /** The headers that opened it. */
  readonly headers: SpdyHeaders;
  /** Resolves when the peer has accepted the stream; nothing may be written before.
   *  Rejects with a SpdyStreamError when it was rejected or the connection ended. */
  readonly accepted: Promise<void>;
  /** Returns the peer's data, to be iterated once. A reset ends it like a close, since the CRI runtimes
   *  end their streams so. */
  read(): AsyncGenerator<Uint8Array>;
  /** Resolves when the bytes have been passed to the socket; waits while peer or socket are full.
   *  @throws {SpdyStreamError} when the stream was closed for writing. */
  write(bytes: Uint8Array): Promise<void>;
  /** Half-close: nothing more is written, reading continues. */
  end(): void;
  /** Aborts the stream in both directions. */
  reset(status?: number): void;
}

/** Interface of a stream for its connection. */
export interface StreamControl {
  readonly stream: SpdyStream;
  readonly window: SendWindow;
  accept(): void;
  receive(bytes: Uint8Array, fin: boolean): void;
  /** The peer reset it. */
  receiveReset(status: number): void;
  /** The connection is closed; `error` unless the close was orderly. */
  disconnect(error: Error | undefined): void;
}

export interface StreamDeps {
  readonly send: (frame: Exclude<SpdyFrame, { kind: 'unknown' }>) => Promise<void>;
  /** Called with bytes that a reader took, for flow control. */
  readonly onTaken: (streamId: number, bytes: number) => void;
  readonly sessionWindow: SendWindow;
}

export interface StreamOptions {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly initialWindowBytes: number;
  readonly isWindowEnforced: boolean;
}

/** Largest piece of data in one frame. */
const MAX_PIECE_BYTES = 32 * 1024;

/** Splits bytes into frames as both windows allow. */
async function writePieces(
  bytes: Uint8Array,
  windows: readonly [SendWindow, SendWindow],
  send: (piece: Uint8Array) => Promise<void>,
  isOpen: () => boolean,
): Promise<void> {
  const [own, session] = windows;
  let rest = bytes;
  while (rest.byteLength > 0) {
    const granted = await own.take(Math.min(rest.byteLength, MAX_PIECE_BYTES));
    let left = granted;
    while (left > 0) {
      const size = await session.take(left);
      if (size === 0) break;
      if (!isOpen()) break;
      await send(rest.subarray(0, size));
      rest = rest.subarray(size);
      left -= size;
    }
    if (granted === 0 || left > 0) throw new SpdyStreamError('stream was closed while writing');
  }
}

export function createStream(deps: StreamDeps, options: StreamOptions): StreamControl {
  const { id, headers } = options;
  const { send } = deps;
  const inbound: ByteQueue = createByteQueue((bytes) => deps.onTaken(id, bytes));
  const window = createSendWindow(options.initialWindowBytes, options.isWindowEnforced);
  const acceptance = Promise.withResolvers<void>();
  // A rejected stream on which nothing waits must not cause an unhandled rejection.
  acceptance.promise.catch(() => undefined);
  let isWritable = true;

  function closeWriting(): void {
    isWritable = false;
    window.close();
  }

  /** Sends a frame without waiting: a failure of the socket reaches every stream through `disconnect`. */
  function sendDetached(frame: Parameters<typeof send>[0]): void {
    send(frame).catch(() => undefined);
  }

  const stream: SpdyStream = {
    id,
    headers,
    accepted: acceptance.promise,
    read: () => inbound.iterate(),
    async write(bytes) {
      if (!isWritable) throw new SpdyStreamError(`stream ${id} is closed for writing`);
      const sendPiece = (data: Uint8Array): Promise<void> =>
        send({ kind: 'data', streamId: id, fin: false, data });
      await writePieces(bytes, [window, deps.sessionWindow], sendPiece, () => isWritable);
    },
    end() {
      if (!isWritable) return;
      closeWriting();
      sendDetached({ kind: 'data', streamId: id, fin: true, data: new Uint8Array(0) });
    },
    reset(status = RST_CANCEL) {
      closeWriting();
      inbound.end();
      acceptance.reject(new SpdyStreamError(`stream ${id} was reset`));
      sendDetached({ kind: 'rstStream', streamId: id, status });
    },
  };

  return {
    stream,
    window,
    accept: () => acceptance.resolve(),
    receive(bytes, fin) {
      inbound.push(bytes);
      if (fin) inbound.end();
    },
    receiveReset(status) {
      closeWriting();
      inbound.end();
      acceptance.reject(new SpdyStreamError(`stream ${id} was rejected with status ${status}`));
    },
    disconnect(error) {
      closeWriting();
      if (error === undefined) inbound.end();
      else inbound.fail(error);
      acceptance.reject(error ?? new SpdyStreamError('connection was closed'));
    },
  };
}
