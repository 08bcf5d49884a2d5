/** A SPDY/3.1 connection over an upgraded socket: opens and accepts streams, responds to pings, maintains
 *  windows for peers that do, and pauses the socket while readers are slow. */
import type { Duplex } from 'node:stream';
import { asError } from '../kit/errno.ts';
import { closeGently } from '../kit/sockets/close-gently.ts';
import { SpdyProtocolError, SpdyStreamError } from './errors.ts';
import { createFrameReader } from './frame-reader.ts';
import {
  encodeFrame,
  RST_INVALID_STREAM,
  RST_REFUSED_STREAM,
  SETTING_INITIAL_WINDOW,
  type SpdyFrame,
  type SpdySetting,
} from './frames.ts';
import { createHeaderCompressor, createHeaderDecompressor, type SpdyHeaders } from './headers.ts';
import { createIntake, type Intake } from './intake.ts';
import { createSendWindow, INITIAL_WINDOW_BYTES } from './send-window.ts';
import { createStream, type SpdyStream, type StreamControl } from './stream.ts';

export interface SpdyConnection {
  /** Opens a stream; `accepted` resolves when it may be written to. */
  open(headers: SpdyHeaders): SpdyStream;
  /** Sends GOAWAY and ends the socket; streams end as if the peer had closed them. The peer receives everything that
   *  was written, if it reads. */
  close(): void;
  /** Breaks the connection; every stream fails with `reason`. */
  destroy(reason: Error): void;
  /** Resolves when the connection is closed: with the error that broke it, or undefined after an orderly
   *  close. */
  readonly closed: Promise<Error | undefined>;
}

export interface SpdyConnectionOptions {
  /** Role of this side: clients number their streams 1, 3, 5…, servers 2, 4, 6… */
  readonly role: 'client' | 'server';
  /** Bytes that followed the upgrade. */
  readonly head?: Uint8Array;
  /** Accepts the peer's streams; they are rejected if this is absent. */
  readonly onStream?: (stream: SpdyStream) => void;
}

type SendableFrame = Exclude<SpdyFrame, { kind: 'unknown' }>;

const MAX_STREAMS = 256;

interface Sender {
  send(frame: SendableFrame): Promise<void>;
  /** Ends every wait. */
  stop(): void;
}

/** Writes in order and resolves each write when the socket accepts more. */
function createSender(socket: Duplex): Sender {
  let drained: Promise<void> | undefined;
  let settle: (() => void) | undefined;
  return {
    async send(frame) {
      if (socket.destroyed || socket.writableEnded) throw new SpdyStreamError('connection was closed');
      if (socket.write(encodeFrame(frame))) return;
      drained ??= new Promise<void>((resolve) => {
        const done = (): void => {
          socket.off('drain', done).off('close', done);
          drained = undefined;
          settle = undefined;
          resolve();
        };
        settle = done;
        socket.on('drain', done).on('close', done);
      });
      await drained;
    },
    stop: () => settle?.(),
  };
}

class Connection implements SpdyConnection {
  readonly closed: Promise<Error | undefined>;
  readonly #socket: Duplex;
  readonly #options: SpdyConnectionOptions;
  readonly #streams = new Map<number, StreamControl>();
  readonly #compressor = createHeaderCompressor();
  readonly #decompressor = createHeaderDecompressor();
  readonly #reader = createFrameReader();
  readonly #sessionWindow = createSendWindow(INITIAL_WINDOW_BYTES, false);
  readonly #sender: Sender;
  readonly #intake: Intake;
  #nextId: number;
  #lastPeerId = 0;
  #peerWindowBytes = INITIAL_WINDOW_BYTES;
  #doesPeerKeepWindows = false;
  #hasPeerLeft = false;
  #error: Error | undefined;

  constructor(socket: Duplex, options: SpdyConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#nextId = options.role === 'client' ? 1 : 2;
    this.#sender = createSender(socket);
    this.#intake = createIntake(socket, (streamId, delta) => {
      if (this.#doesPeerKeepWindows) this.#sendDetached({ kind: 'windowUpdate', streamId, delta });
    });
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        // A broken socket that was paused still holds what it had received.
        const rest: unknown = socket.read();
        if (rest instanceof Uint8Array) this.#receive(rest);
        this.#disconnect(this.#error);
        resolve(this.#error);
      });
    });
    socket.on('data', (bytes: Uint8Array) => this.#receive(bytes));
    socket.on('end', () => socket.end());
    socket.on('error', (error: Error) => {
      this.#error ??= error;
    });
    if (options.head !== undefined && options.head.byteLength > 0) this.#receive(options.head);
  }

  open(headers: SpdyHeaders): SpdyStream {
    const control = this.#createStream(this.#nextId, headers);
    this.#nextId += 2;
    const { stream } = control;
    if (this.#hasPeerLeft || this.#socket.destroyed) {
      control.disconnect(this.#error);
      return stream;
    }
    this.#sendDetached({
      kind: 'synStream',
      streamId: stream.id,
      associatedTo: 0,
      priority: 0,
      fin: false,
      unidirectional: false,
      headerBlock: this.#compressor.compress(headers),
    });
    return stream;
  }

  close(): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    this.#sendDetached({ kind: 'goAway', lastStreamId: this.#lastPeerId, status: 0 });
    this.#socket.end();
    this.#sender.stop();
    this.#disconnect(undefined);
    this.#intake.discard();
    closeGently(this.#socket);
  }

  #disconnect(error: Error | undefined): void {
    for (const control of this.#streams.values()) control.disconnect(error);
    this.#sessionWindow.close();
  }

  /** Data is sent once nothing of the peer is on its way. */
  async #sendData(frame: SendableFrame): Promise<void> {
    if (frame.kind === 'data' && !frame.fin) await this.#intake.quiet();
    return this.#sender.send(frame);
  }

  destroy(reason: Error): void {
    this.#error ??= reason;
    this.#socket.destroy();
  }

  #sendDetached(frame: SendableFrame): void {
    // A failed socket closes, and the close ends every stream with the reason.
    this.#sender.send(frame).catch(() => undefined);
  }

  #createStream(id: number, headers: SpdyHeaders): StreamControl {
    const control = createStream(
      {
        send: (frame) => this.#sendData(frame),
        onTaken: (streamId, bytes) => this.#intake.consumed(streamId, bytes),
        sessionWindow: this.#sessionWindow,
      },
      {
        id,
        headers,
        initialWindowBytes: this.#peerWindowBytes,
        isWindowEnforced: this.#doesPeerKeepWindows,
      },
    );
    this.#streams.set(id, control);
    return control;
  }

  #receive(bytes: Uint8Array): void {
    try {
      for (const frame of this.#reader.feed(bytes)) this.#dispatch(frame);
    } catch (thrown) {
      this.destroy(asError(thrown));
    }
  }

  #dispatch(frame: SpdyFrame): void {
    switch (frame.kind) {
      case 'data':
        return this.#receiveData(frame.streamId, frame.data, frame.fin);
      case 'synStream':
        return this.#receiveStream(
          frame.streamId,
          this.#decompressor.decompress(frame.headerBlock),
          frame.fin,
        );
      case 'synReply':
        // Decompressed even if nothing reads it: later blocks depend on it.
        this.#decompressor.decompress(frame.headerBlock);
        this.#streams.get(frame.streamId)?.accept();
        if (frame.fin) this.#receiveData(frame.streamId, new Uint8Array(0), true);
        return undefined;
      case 'headers':
        this.#decompressor.decompress(frame.headerBlock);
        return undefined;
      case 'rstStream':
        this.#streams.get(frame.streamId)?.receiveReset(frame.status);
        this.#streams.delete(frame.streamId);
        return undefined;
      case 'ping':
        // An ID of our own parity is the response to our own ping; we send none.
        if (frame.id % 2 !== this.#nextId % 2) this.#sendDetached(frame);
        return undefined;
      case 'goAway':
        this.#hasPeerLeft = true;
        return undefined;
      case 'settings':
        return this.#applySettings(frame.entries);
      case 'windowUpdate':
        this.#doesPeerKeepWindows = true;
        (frame.streamId === 0 ? this.#sessionWindow : this.#streams.get(frame.streamId)?.window)?.grow(
          frame.delta,
        );
        return undefined;
      case 'unknown':
        return undefined;
      default:
        return frame satisfies never;
    }
  }

  #receiveData(streamId: number, data: Uint8Array, fin: boolean): void {
    const control = this.#streams.get(streamId);
    if (control === undefined) {
      // Late data of a stream that was reset here.
      if (!fin) this.#sendDetached({ kind: 'rstStream', streamId, status: RST_INVALID_STREAM });
      return;
    }
    this.#intake.received(data.byteLength);
    control.receive(data, fin);
  }

  #receiveStream(streamId: number, headers: SpdyHeaders, fin: boolean): void {
    const { onStream } = this.#options;
    if (streamId <= this.#lastPeerId || streamId % 2 === this.#nextId % 2) {
      throw new SpdyProtocolError(`stream number ${streamId} is not the peer's next`);
    }
    this.#lastPeerId = streamId;
    if (onStream === undefined || this.#streams.size >= MAX_STREAMS) {
      this.#sendDetached({ kind: 'rstStream', streamId, status: RST_REFUSED_STREAM });
      return;
    }
    const control = this.#createStream(streamId, headers);
    const headerBlock = this.#compressor.compress({});
    this.#sendDetached({ kind: 'synReply', streamId, fin: false, headerBlock });
    control.accept();
    if (fin) control.receive(new Uint8Array(0), true);
    onStream(control.stream);
  }

  #applySettings(entries: readonly SpdySetting[]): void {
    const window = entries.find((entry) => entry.id === SETTING_INITIAL_WINDOW);
    if (window === undefined) return;
    this.#doesPeerKeepWindows = true;
    const change = window.value - this.#peerWindowBytes;
    this.#peerWindowBytes = window.value;
    for (const control of this.#streams.values()) control.window.adjust(change);
  }
}

export function createSpdyConnection(socket: Duplex, options: SpdyConnectionOptions): SpdyConnection {
  return new Connection(socket, options);
}
