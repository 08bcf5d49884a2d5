/** Encoding and decoding of SPDY/3.1 frames. Pure; header blocks stay compressed here.
 *  Source: SPDY Protocol draft 3.1, section 2. */
import { SpdyProtocolError } from './errors.ts';

export type SpdyFrame =
  | { readonly kind: 'data'; readonly streamId: number; readonly fin: boolean; readonly data: Uint8Array }
  | {
      readonly kind: 'synStream';
      readonly streamId: number;
      readonly associatedTo: number;
      /** 0 (highest) to 7. */
      readonly priority: number;
      readonly fin: boolean;
      readonly unidirectional: boolean;
      readonly headerBlock: Uint8Array;
    }
  | {
      readonly kind: 'synReply' | 'headers';
      readonly streamId: number;
      readonly fin: boolean;
      readonly headerBlock: Uint8Array;
    }
  | { readonly kind: 'rstStream'; readonly streamId: number; readonly status: number }
  | { readonly kind: 'settings'; readonly entries: readonly SpdySetting[] }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'goAway'; readonly lastStreamId: number; readonly status: number }
  | { readonly kind: 'windowUpdate'; readonly streamId: number; readonly delta: number }
  /** A control frame of an unknown type, which is ignored. */
  | { readonly kind: 'unknown'; readonly type: number };

export interface SpdySetting {
  readonly id: number;
  readonly value: number;
}

/** ID of the setting for the initial window of each stream. */
export const SETTING_INITIAL_WINDOW = 7;

export const RST_INVALID_STREAM = 2;
export const RST_REFUSED_STREAM = 3;
export const RST_CANCEL = 5;

export const HEADER_BYTES = 8;
/** The length field has 24 bits; we accept and send far smaller frames. */
const MAX_FRAME_BYTES: number = 4 * 1024 * 1024;

const VERSION = 3;
const CONTROL_BIT = 0x80000000;
const FLAG_FIN = 1;
const FLAG_UNIDIRECTIONAL = 2;
const ID_MASK = 0x7fffffff;

const TYPES = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

function uint32s(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4);
  return bytes;
}

function control(type: number, flags: number, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
  const head = uint32s(CONTROL_BIT | (VERSION << 16) | type, (flags << 24) | length);
  return Buffer.concat([head, ...parts]);
}

/** Encodes a frame. */
export function encodeFrame(frame: Exclude<SpdyFrame, { kind: 'unknown' }>): Buffer {
  switch (frame.kind) {
    case 'data': {
      const flags = frame.fin ? FLAG_FIN : 0;
      return Buffer.concat([uint32s(frame.streamId, (flags << 24) | frame.data.byteLength), frame.data]);
    }
    case 'synStream': {
      const flags = (frame.fin ? FLAG_FIN : 0) | (frame.unidirectional ? FLAG_UNIDIRECTIONAL : 0);
      const priority = Buffer.from([frame.priority << 5, 0]);
      return control(
        TYPES.synStream,
        flags,
        uint32s(frame.streamId, frame.associatedTo),
        priority,
        frame.headerBlock,
      );
    }
    case 'synReply':
    case 'headers':
      return control(TYPES[frame.kind], frame.fin ? FLAG_FIN : 0, uint32s(frame.streamId), frame.headerBlock);
    case 'rstStream':
      return control(TYPES.rstStream, 0, uint32s(frame.streamId, frame.status));
    case 'settings':
      return control(
        TYPES.settings,
        0,
        uint32s(frame.entries.length, ...frame.entries.flatMap((entry) => [entry.id, entry.value])),
      );
    case 'ping':
      return control(TYPES.ping, 0, uint32s(frame.id));
    case 'goAway':
      return control(TYPES.goAway, 0, uint32s(frame.lastStreamId, frame.status));
    case 'windowUpdate':
      return control(TYPES.windowUpdate, 0, uint32s(frame.streamId, frame.delta));
    default:
      return frame satisfies never;
  }
}

/** Returns the length of a frame's body from its header.
 *  @throws {SpdyProtocolError} when it exceeds the limit. */
export function frameBodyLength(head: Buffer): number {
  const length = head.readUInt32BE(4) & 0xffffff;
  if (length > MAX_FRAME_BYTES) throw new SpdyProtocolError(`frame of ${length} bytes is too large`);
  return length;
}

function requireLength(body: Buffer, least: number, what: string): void {
  if (body.length < least) throw new SpdyProtocolError(`${what} frame of ${body.length} bytes is too short`);
}

function decodeSettings(body: Buffer): readonly SpdySetting[] {
  requireLength(body, 4, 'SETTINGS');
  const count = body.readUInt32BE(0);
  requireLength(body, 4 + count * 8, 'SETTINGS');
  return Array.from({ length: count }, (_, index) => ({
    id: body.readUInt32BE(4 + index * 8) & 0xffffff,
    value: body.readUInt32BE(8 + index * 8),
  }));
}

function decodeSynStream(flags: number, body: Buffer): SpdyFrame {
  requireLength(body, 10, 'SYN_STREAM');
  return {
    kind: 'synStream',
    streamId: body.readUInt32BE(0) & ID_MASK,
    associatedTo: body.readUInt32BE(4) & ID_MASK,
    priority: body.readUInt8(8) >> 5,
    fin: (flags & FLAG_FIN) !== 0,
    unidirectional: (flags & FLAG_UNIDIRECTIONAL) !== 0,
    headerBlock: body.subarray(10),
  };
}

function decodeWithBlock(kind: 'synReply' | 'headers', flags: number, body: Buffer): SpdyFrame {
  requireLength(body, 4, 'SYN_REPLY or HEADERS');
  return {
    kind,
    streamId: body.readUInt32BE(0) & ID_MASK,
    fin: (flags & FLAG_FIN) !== 0,
    headerBlock: body.subarray(4),
  };
}

function decodeControl(type: number, flags: number, body: Buffer): SpdyFrame {
  switch (type) {
    case TYPES.synStream:
      return decodeSynStream(flags, body);
    case TYPES.synReply:
      return decodeWithBlock('synReply', flags, body);
    case TYPES.headers:
      return decodeWithBlock('headers', flags, body);
    case TYPES.settings:
      return { kind: 'settings', entries: decodeSettings(body) };
    case TYPES.ping:
      requireLength(body, 4, 'PING');
      return { kind: 'ping', id: body.readUInt32BE(0) };
    case TYPES.rstStream:
      requireLength(body, 8, 'RST_STREAM');
      return { kind: 'rstStream', streamId: body.readUInt32BE(0) & ID_MASK, status: body.readUInt32BE(4) };
    case TYPES.goAway:
      requireLength(body, 8, 'GOAWAY');
      return { kind: 'goAway', lastStreamId: body.readUInt32BE(0) & ID_MASK, status: body.readUInt32BE(4) };
    case TYPES.windowUpdate:
      requireLength(body, 8, 'WINDOW_UPDATE');
      return {
        kind: 'windowUpdate',
        streamId: body.readUInt32BE(0) & ID_MASK,
        delta: body.readUInt32BE(4) & ID_MASK,
      };
    default:
      return { kind: 'unknown', type };
  }
}

/** Decodes one whole frame. Data and header blocks are views into `body`.
 *  @throws {SpdyProtocolError} when its version is wrong or it is too short. */
export function decodeFrame(head: Buffer, body: Buffer): SpdyFrame {
  const first = head.readUInt32BE(0);
  const flags = head.readUInt8(4);
  if ((first & CONTROL_BIT) === 0) {
    return { kind: 'data', streamId: first & ID_MASK, fin: (flags & FLAG_FIN) !== 0, data: body };
  }
  const version = (first >>> 16) & 0x7fff;
  if (version !== VERSION) throw new SpdyProtocolError(`SPDY version ${version} is not 3`);
  return decodeControl(first & 0xffff, flags, body);
}
