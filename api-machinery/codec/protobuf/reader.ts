/** Reader of protobuf wire values from one byte array, never past the end of the message being read.
 *  Independent of any schema. Source: the protobuf encoding guide. */
import { Buffer } from 'node:buffer';
import type { Int64 } from '../../kit/int64.ts';
import { ProtobufError } from './error.ts';

export interface ReaderLimits {
  /** Deepest nesting of messages and groups. */
  readonly maxDepth: number;
  /** Longest input in bytes. */
  readonly maxBytes: number;
  /** Most messages in one input, the outermost included: an empty one costs 2 bytes of input and an object. */
  readonly maxMessages: number;
}

export const DEFAULT_READER_LIMITS: ReaderLimits = {
  maxDepth: 100,
  maxBytes: 64 * 1024 * 1024,
  maxMessages: 1_000_000,
};

/** Map keys repeat from message to message: that many recent ones are recognised without decoding them. */
const KEY_SLOTS = 256;
const LONGEST_KEPT_KEY = 80;

interface KeptKey {
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** Up to this many bytes, a string is built in place; a call into Node's decoder costs more. */
const SHORT_STRING_BYTES = 12;

const NO_BYTES: Buffer = Buffer.alloc(0);

export class Reader {
  private readonly limits: ReaderLimits;
  private readonly scratch = new DataView(new ArrayBuffer(8));
  /** Created for the first key: most readers of envelopes never see one. */
  private keys: (KeptKey | undefined)[] | undefined;
  private bytes: Buffer = NO_BYTES;
  private numbers: DataView = this.scratch;
  private position = 0;
  private end = 0;
  private depth = 0;
  private messages = 0;
  private high = 0;
  /** High 32 bits of the last 64-bit number. */
  private low = 0;

  constructor(limits: ReaderLimits = DEFAULT_READER_LIMITS) {
    this.limits = limits;
  }

  /** Starts reading new input, which the reader references until `release`. */
  reset(bytes: Uint8Array): void {
    const { buffer, byteOffset, byteLength } = bytes;
    if (byteLength > this.limits.maxBytes) {
      throw new ProtobufError(
        'LimitExceeded',
        `${byteLength} bytes, at most ${this.limits.maxBytes} allowed`,
      );
    }
    this.bytes = Buffer.from(buffer, byteOffset, byteLength);
    this.numbers = new DataView(buffer, byteOffset, byteLength);
    this.position = 0;
    this.end = byteLength;
    this.depth = 0;
    this.messages = 1;
  }

  /** Releases the input. */
  release(): void {
    this.bytes = NO_BYTES;
    this.numbers = this.scratch;
    this.end = 0;
  }

  /** True while the message being read has bytes left. */
  more(): boolean {
    return this.position < this.end;
  }

  /** Reads a length and narrows the reader to that many bytes, as a nested message.
   *  Returns what `leave` needs to widen it again. */
  enterMessage(): number {
    if (++this.messages > this.limits.maxMessages) {
      throw new ProtobufError('LimitExceeded', `more than ${this.limits.maxMessages} messages in one input`);
    }
    this.deeper();
    return this.enterBytes();
  }

  leaveMessage(outerEnd: number): void {
    this.depth -= 1;
    this.end = outerEnd;
  }

  /** Like `enterMessage` for a packed list. */
  enterBytes(): number {
    const length = this.length();
    const outerEnd = this.end;
    if (length > outerEnd - this.position) throw truncated();
    this.end = this.position + length;
    return outerEnd;
  }

  leaveBytes(outerEnd: number): void {
    this.end = outerEnd;
  }

  /** A field's tag: its number times 8 plus its wire type. */
  tag(): number {
    const tag = this.uint32();
    if (tag >>> 3 === 0 || this.high !== 0)
      throw new ProtobufError('Malformed', 'field number 0 or too large');
    return tag;
  }

  /** The low 32 bits of a varint, unsigned; the high ones are left in `high`. */
  uint32(): number {
    const { bytes } = this;
    if (this.position >= this.end) throw truncated();
    const first = this.byte(bytes);
    if (first < 0x80) {
      this.high = 0;
      return first;
    }
    let low = first & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      const next = this.byte(bytes);
      low |= (next & 0x7f) << shift;
      if (next < 0x80) {
        this.high = 0;
        return low >>> 0;
      }
    }
    const middle = this.byte(bytes);
    low |= (middle & 0x0f) << 28;
    this.high = (middle & 0x7f) >>> 4;
    if (middle >= 0x80) this.highBits(bytes);
    return low >>> 0;
  }

  int32(): number {
    return this.uint32() | 0;
  }

  bool(): boolean {
    const low = this.uint32();
    return low !== 0 || this.high !== 0;
  }

  uint64(): bigint {
    const low = this.uint32();
    if (this.high === 0) return BigInt(low);
    return this.wide(low).getBigUint64(0, true);
  }

  int64(): bigint {
    const low = this.uint32();
    if (this.high === 0) return BigInt(low);
    return this.wide(low).getBigInt64(0, true);
  }

  /** A signed 64-bit value in canonical form: a number where that is exact, else a bigint. */
  exactInt64(): Int64 {
    const near = this.safeInt64();
    if (Number.isSafeInteger(near)) return near;
    return this.wide(this.low).getBigInt64(0, true);
  }

  /** A signed 64-bit value as a number: exact up to 2^53. */
  safeInt64(): number {
    this.low = this.uint32();
    return this.high === 0 ? this.low : (this.high | 0) * 2 ** 32 + this.low;
  }

  double(): number {
    const at = this.take(8);
    return this.numbers.getFloat64(at, true);
  }

  float(): number {
    const at = this.take(4);
    return this.numbers.getFloat32(at, true);
  }

  /** Text; bytes that are no UTF-8 become U+FFFD, because runtimes pass on what programs wrote. */
  string(): string {
    const length = this.length();
    const start = this.take(length);
    if (length <= SHORT_STRING_BYTES) {
      let text = '';
      let at = start;
      for (; at < start + length; at += 1) {
        const code = this.bytes[at] ?? 0;
        if (code >= 0x80) break;
        text += String.fromCharCode(code);
      }
      if (at === start + length) return text;
    }
    return this.bytes.toString('utf8', start, start + length);
  }

  /** Text that probably occurred before, such as a map's key. */
  key(): string {
    const from = this.position;
    const length = this.length();
    const start = this.position;
    if (length === 0 || length > LONGEST_KEPT_KEY || length > this.end - start) {
      this.position = from;
      return this.string();
    }
    const slot = this.slotOf(start, length);
    this.keys ??= Array.from({ length: KEY_SLOTS }, () => undefined);
    const kept = this.keys[slot];
    if (kept !== undefined && this.startsWith(start, length, kept.bytes)) {
      this.position = start + length;
      return kept.text;
    }
    this.position = from;
    const text = this.string();
    this.keys[slot] = { bytes: new Uint8Array(this.bytes.subarray(start, start + length)), text };
    return text;
  }

  private slotOf(start: number, length: number): number {
    const { bytes } = this;
    const last = bytes[start + length - 1] ?? 0;
    const middle = bytes[start + (length >> 1)] ?? 0;
    return (length * 37 + last * 11 + middle) % KEY_SLOTS;
  }

  private startsWith(start: number, length: number, wanted: Uint8Array): boolean {
    if (wanted.length !== length) return false;
    const { bytes } = this;
    for (let i = length - 1; i >= 0; i -= 1) {
      if (bytes[start + i] !== wanted[i]) return false;
    }
    return true;
  }

  /** A copy, so that a short value does not keep a long message alive. */
  blob(): Uint8Array {
    const length = this.length();
    const start = this.take(length);
    const copy = new Uint8Array(length);
    copy.set(this.bytes.subarray(start, start + length));
    return copy;
  }

  /** The bytes themselves, sharing memory with the input. */
  view(): Buffer {
    const length = this.length();
    const start = this.take(length);
    return this.bytes.subarray(start, start + length);
  }

  /** Skips the value of an unknown field. */
  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        this.uint32();
        return;
      case 1:
        this.take(8);
        return;
      case 2:
        this.take(this.length());
        return;
      case 3:
        this.skipGroup(tag >>> 3);
        return;
      case 5:
        this.take(4);
        return;
      default:
        throw new ProtobufError('Malformed', `wire type ${tag & 7} of field ${tag >>> 3}`);
    }
  }

  private skipGroup(number: number): void {
    this.deeper();
    for (;;) {
      const tag = this.tag();
      if ((tag & 7) !== 4) {
        this.skip(tag);
      } else if (tag >>> 3 === number) {
        this.depth -= 1;
        return;
      } else {
        throw new ProtobufError('Malformed', `group ${number} ended as group ${tag >>> 3}`);
      }
    }
  }

  private deeper(): void {
    if (++this.depth > this.limits.maxDepth) {
      throw new ProtobufError('LimitExceeded', `nested deeper than ${this.limits.maxDepth}`);
    }
  }

  private length(): number {
    const length = this.uint32();
    if (this.high !== 0) throw new ProtobufError('Malformed', 'length of more than 32 bits');
    return length;
  }

  private take(length: number): number {
    const start = this.position;
    if (length > this.end - start) throw truncated();
    this.position = start + length;
    return start;
  }

  private byte(bytes: Buffer): number {
    if (this.position >= this.end) throw truncated();
    return bytes[this.position++] ?? 0;
  }

  /** Bytes 6 to 10 of a varint. Bits beyond the 64th are dropped, as other implementations do. */
  private highBits(bytes: Buffer): void {
    let high = this.high;
    for (let shift = 3; shift <= 31; shift += 7) {
      const next = this.byte(bytes);
      high |= (next & 0x7f) << shift;
      if (next < 0x80) {
        this.high = high >>> 0;
        return;
      }
    }
    throw new ProtobufError('Malformed', 'varint longer than 10 bytes');
  }

  private wide(low: number): DataView {
    this.scratch.setUint32(0, low, true);
    this.scratch.setUint32(4, this.high, true);
    return this.scratch;
  }
}

function truncated(): ProtobufError {
  return new ProtobufError('Truncated', 'input ends inside a value');
}
