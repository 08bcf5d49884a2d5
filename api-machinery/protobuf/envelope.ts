/** Protobuf envelope of API objects: four bytes and a message that names the object's kind; and the frames of
 *  a watch. Pure. Source: protobuf envelope, document 1 §2.6; facts README, Encodings. */
import { Buffer } from 'node:buffer';
import { ProtobufError } from '../codec/protobuf/error.ts';
import { Reader, type ReaderLimits } from '../codec/protobuf/reader.ts';

/** `k8s` and a zero. */
const PROTOBUF_PREFIX: Buffer = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Envelope extends TypeMeta {
  /** The object's own message; shares memory with the input. */
  readonly raw: Buffer;
  readonly contentEncoding: string;
  readonly contentType: string;
}

const FIELD_1 = 0x0a;
const FIELD_2 = 0x12;
const FIELD_3 = 0x1a;
const FIELD_4 = 0x22;
/** Content encoding and content type, both empty, both written. */
const TAIL: Buffer = Buffer.from([FIELD_3, 0, FIELD_4, 0]);
const LONGEST_VARINT = 5;

/** Length of a varint below 2^32 in bytes. */
export const varintLength = (value: number): number => Math.ceil((32 - Math.clz32(value | 1)) / 7);

/** Writes a varint below 2^32; returns the offset after it. */
export function writeVarint(into: Buffer, value: number, offset: number): number {
  let at = offset;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) into[at++] = (rest & 0x7f) | 0x80;
  into[at++] = rest;
  return at;
}

/** Returns the part of an envelope before the object's `rawLength` bytes. */
export function envelopeHead({ apiVersion, kind }: TypeMeta, rawLength: number): Buffer {
  const versionLength = Buffer.byteLength(apiVersion);
  const kindLength = Buffer.byteLength(kind);
  const metaLength = 2 + varintLength(versionLength) + versionLength + varintLength(kindLength) + kindLength;
  const head = Buffer.allocUnsafe(PROTOBUF_PREFIX.length + 2 + 2 * LONGEST_VARINT + metaLength);
  let at = PROTOBUF_PREFIX.copy(head);
  head[at++] = FIELD_1;
  at = writeVarint(head, metaLength, at);
  head[at++] = FIELD_1;
  at = writeVarint(head, versionLength, at);
  at += head.write(apiVersion, at);
  head[at++] = FIELD_2;
  at = writeVarint(head, kindLength, at);
  at += head.write(kind, at);
  head[at++] = FIELD_2;
  at = writeVarint(head, rawLength, at);
  return head.subarray(0, at);
}

/** The part of an envelope after the object's bytes. */
export const ENVELOPE_TAIL: Buffer = TAIL;

/** Wraps an object's message in its envelope. */
export function wrapMessage(meta: TypeMeta, raw: Uint8Array): Buffer {
  return Buffer.concat([envelopeHead(meta, raw.length), raw, TAIL]);
}

const hasProtobufPrefix = (bytes: Buffer): boolean =>
  bytes.length >= PROTOBUF_PREFIX.length && PROTOBUF_PREFIX.compare(bytes, 0, PROTOBUF_PREFIX.length) === 0;

const NONE: Buffer = Buffer.alloc(0);

/** Unwraps an object from its envelope.
 *  @throws ProtobufError `Malformed` if the prefix is wrong, or the reader's error */
export function unwrapMessage(bytes: Buffer, limits?: ReaderLimits): Envelope {
  if (!hasProtobufPrefix(bytes)) {
    const wanted = PROTOBUF_PREFIX.toString('hex');
    throw new ProtobufError('Malformed', `an object must begin with the bytes ${wanted}`);
  }
  const reader = new Reader(limits);
  reader.reset(bytes.subarray(PROTOBUF_PREFIX.length));
  let meta: TypeMeta = { apiVersion: '', kind: '' };
  let raw = NONE;
  let contentEncoding = '';
  let contentType = '';
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === FIELD_1) meta = readTypeMeta(reader);
    else if (tag === FIELD_2) raw = reader.view();
    else if (tag === FIELD_3) contentEncoding = reader.string();
    else if (tag === FIELD_4) contentType = reader.string();
    else reader.skip(tag);
  }
  return { ...meta, raw, contentEncoding, contentType };
}

function readTypeMeta(reader: Reader): TypeMeta {
  const end = reader.enterMessage();
  let apiVersion = '';
  let kind = '';
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === FIELD_1) apiVersion = reader.string();
    else if (tag === FIELD_2) kind = reader.string();
    else reader.skip(tag);
  }
  reader.leaveMessage(end);
  return { apiVersion, kind };
}

/** Encodes a watch event as a frame: four bytes of length (big-endian), then the event's message.
 *  `object` is the object in its envelope. */
export function watchFrame(type: string, object: Buffer): Buffer {
  const typeLength = type.length;
  const rawLength = 1 + varintLength(object.length) + object.length;
  const length = 2 + typeLength + 1 + varintLength(rawLength) + rawLength;
  const frame = Buffer.allocUnsafe(4 + length);
  let at = frame.writeUInt32BE(length, 0);
  frame[at++] = FIELD_1;
  frame[at++] = typeLength;
  at += frame.write(type, at, 'latin1');
  frame[at++] = FIELD_2;
  at = writeVarint(frame, rawLength, at);
  frame[at++] = FIELD_1;
  at = writeVarint(frame, object.length, at);
  object.copy(frame, at);
  return frame;
}

export interface WatchMessage {
  /** `ADDED`, `ERROR`… */
  readonly type: string;
  /** The object in its envelope; shares memory with the input. */
  readonly object: Buffer;
}

/** Reads an event's message, without the length before it.
 *  @throws ProtobufError */
export function readWatchMessage(message: Buffer): WatchMessage {
  const reader = new Reader();
  reader.reset(message);
  let type = '';
  let object = NONE;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === FIELD_1) type = reader.string();
    else if (tag === FIELD_2) object = readRaw(reader, object);
    else reader.skip(tag);
  }
  return { type, object };
}

/** The bytes of an embedded object. */
function readRaw(reader: Reader, before: Buffer): Buffer {
  const end = reader.enterMessage();
  let raw = before;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === FIELD_1) raw = reader.view();
    else reader.skip(tag);
  }
  reader.leaveMessage(end);
  return raw;
}

/** Bytes of a frame before its message: the message's length. */
export const FRAME_HEAD_BYTES = 4;

/** Returns the events' messages in bytes that consist of whole frames, for transports with their own framing,
 *  such as WebSocket. Copies nothing.
 *  @throws ProtobufError `Truncated` if the last frame is incomplete */
export function* watchFrames(bytes: Buffer): Generator<Buffer> {
  let at = 0;
  while (at < bytes.length) {
    const start = at + FRAME_HEAD_BYTES;
    const end = start <= bytes.length ? start + bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY;
    if (end > bytes.length) throw new ProtobufError('Truncated', 'a frame is not whole');
    yield bytes.subarray(start, end);
    at = end;
  }
}
