/** Writer of protobuf wire values into one growing buffer. Independent of any schema; callers validate
 *  ranges. */
import { Buffer } from 'node:buffer';

const INITIAL_BYTES = 1024;
/** A buffer that grew beyond this is released after use. */
const KEPT_BYTES = 256 * 1024;
/** Up to this many characters, ASCII text is written in place; a call into Node's encoder costs more. */
const SHORT_STRING_CHARS = 40;

export class Writer {
  private readonly scratch = new DataView(new ArrayBuffer(8));
  private bytes: Buffer = Buffer.alloc(INITIAL_BYTES);
  private position = 0;

  /** Discards the written bytes. Needed only after an error; `finish` does it too. */
  reset(): void {
    this.position = 0;
    if (this.bytes.length > KEPT_BYTES) this.bytes = Buffer.alloc(INITIAL_BYTES);
  }

  /** Returns a copy of the written bytes and empties the writer. */
  finish(): Uint8Array {
    const result = new Uint8Array(this.position);
    result.set(this.bytes.subarray(0, this.position));
    this.reset();
    return result;
  }

  /** An unsigned 32-bit varint; also a tag or a length. */
  uint32(value: number): void {
    this.reserve(5);
    this.raw32(value >>> 0);
  }

  /** A signed 32-bit value; negative ones take 10 bytes, as the format requires. */
  int32(value: number): void {
    this.reserve(10);
    if (value >= 0) this.raw32(value);
    else this.raw64(value >>> 0, 0xffff_ffff);
  }

  bool(value: boolean): void {
    this.uint32(value ? 1 : 0);
  }

  /** A 64-bit varint of either sign, from -2^63 to 2^64 - 1. */
  int64(value: bigint): void {
    this.reserve(10);
    this.scratch.setBigUint64(0, BigInt.asUintN(64, value), true);
    this.raw64(this.scratch.getUint32(0, true), this.scratch.getUint32(4, true));
  }

  /** A signed 64-bit varint of a whole number; exact up to 2^53. */
  safeInt64(value: number): void {
    this.reserve(10);
    if (value >= 0 && value <= 0xffff_ffff) this.raw32(value);
    else this.raw64(value >>> 0, Math.floor(value / 2 ** 32) >>> 0);
  }

  double(value: number): void {
    this.reserve(8);
    this.bytes.writeDoubleLE(value, this.position);
    this.position += 8;
  }

  float(value: number): void {
    this.reserve(4);
    this.bytes.writeFloatLE(value, this.position);
    this.position += 4;
  }

  /** Text as UTF-8 with its length; a lone surrogate becomes U+FFFD. */
  string(text: string): void {
    if (text.length <= SHORT_STRING_CHARS && this.ascii(text)) return;
    const length = Buffer.byteLength(text);
    this.uint32(length);
    this.reserve(length);
    this.bytes.write(text, this.position, 'utf8');
    this.position += length;
  }

  blob(value: Uint8Array): void {
    this.uint32(value.length);
    this.reserve(value.length);
    this.bytes.set(value, this.position);
    this.position += value.length;
  }

  /** Starts a value whose length is not known yet. Returns what `endLength` needs. */
  beginLength(): number {
    this.reserve(1);
    this.position += 1;
    return this.position;
  }

  /** Ends the value: one byte was reserved for the length, a longer length moves the value up. */
  endLength(start: number): void {
    const length = this.position - start;
    if (length < 0x80) {
      this.bytes[start - 1] = length;
      return;
    }
    const extra = Math.ceil((32 - Math.clz32(length)) / 7) - 1;
    this.reserve(extra);
    this.bytes.copyWithin(start + extra, start, this.position);
    const end = this.position + extra;
    this.position = start - 1;
    this.raw32(length);
    this.position = end;
  }

  private ascii(text: string): boolean {
    const { length } = text;
    this.reserve(length + 1);
    const { bytes } = this;
    const start = this.position + 1;
    for (let i = 0; i < length; i += 1) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) return false;
      bytes[start + i] = code;
    }
    bytes[start - 1] = length;
    this.position = start + length;
    return true;
  }

  private raw32(value: number): void {
    const { bytes } = this;
    let rest = value;
    while (rest > 0x7f) {
      bytes[this.position++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[this.position++] = rest;
  }

  private raw64(low: number, high: number): void {
    const { bytes } = this;
    let lowRest = low;
    let highRest = high;
    while (highRest !== 0) {
      bytes[this.position++] = (lowRest & 0x7f) | 0x80;
      lowRest = ((lowRest >>> 7) | (highRest << 25)) >>> 0;
      highRest >>>= 7;
    }
    this.raw32(lowRest);
  }

  private reserve(length: number): void {
    const needed = this.position + length;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.alloc(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.position));
    this.bytes = grown;
  }
}
