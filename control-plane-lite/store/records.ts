/** Packed records: keys and values in one piece of memory, which crosses between threads at the cost of one
 *  copy, however many they are. A record: u32 length of the key, u32 length of the value, f64 number, key,
 *  value. */
import { Buffer } from 'node:buffer';
import type { StoredItem, StoreEvent } from './contract.ts';

export interface PackableRecord {
  readonly key: string;
  /** Absent: a deletion. */
  readonly value: Uint8Array | undefined;
  /** A revision, or the expected revision of a write. */
  readonly number: number;
}

const HEADER_BYTES = 16;
const NO_VALUE = 0xff_ff_ff_ff;

/** Allocates memory that isn't shared with other buffers, so that it can be transferred to another thread. */
export type PackedRecords = Buffer<ArrayBuffer>;

export function packRecords(records: readonly PackableRecord[]): PackedRecords {
  let total = 0;
  for (const { key, value } of records) {
    total += HEADER_BYTES + Buffer.byteLength(key) + (value === undefined ? 0 : value.length);
  }
  const packed = Buffer.allocUnsafeSlow(total);
  let at = 0;
  for (const { key, value, number } of records) {
    const keyBytes = packed.write(key, at + HEADER_BYTES);
    packed.writeUInt32LE(keyBytes, at);
    packed.writeUInt32LE(value === undefined ? NO_VALUE : value.length, at + 4);
    packed.writeDoubleLE(number, at + 8);
    at += HEADER_BYTES + keyBytes;
    if (value !== undefined) {
      packed.set(value, at);
      at += value.length;
    }
  }
  return packed;
}

/** Iterates over packed records; returned bytes are views of the packed memory. */
export class RecordReader {
  private readonly packed: Buffer;
  private at = 0;
  private keyAt = 0;
  private keyEnd = 0;
  /** The number of the record that `next` moved to. */
  number = 0;
  value: Buffer | undefined = undefined;

  constructor(packed: Uint8Array) {
    this.packed = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  }

  /** Moves to the next record; returns false at the end. */
  next(): boolean {
    const { packed, at } = this;
    if (at >= packed.length) return false;
    this.keyAt = at + HEADER_BYTES;
    this.keyEnd = this.keyAt + packed.readUInt32LE(at);
    const valueBytes = packed.readUInt32LE(at + 4);
    this.number = packed.readDoubleLE(at + 8);
    this.at = this.keyEnd + (valueBytes === NO_VALUE ? 0 : valueBytes);
    this.value = valueBytes === NO_VALUE ? undefined : packed.subarray(this.keyEnd, this.at);
    return true;
  }

  key(): string {
    return this.packed.toString('utf8', this.keyAt, this.keyEnd);
  }
}

/** Returns the reader's next record as an item; its value is a view of the packed memory. */
export function readItem(reader: RecordReader): StoredItem | undefined {
  if (!reader.next() || reader.value === undefined) return undefined;
  return { key: reader.key(), value: reader.value, revision: reader.number };
}

/** Returns the reader's next record as an event; its value is a view of the packed memory. */
export function readEvent(reader: RecordReader): StoreEvent | undefined {
  return reader.next() ? toEvent(reader.key(), reader.value, reader.number) : undefined;
}

/** @param value undefined: deleted */
export function toEvent(key: string, value: Buffer | undefined, revision: number): StoreEvent {
  return value === undefined ? { type: 'delete', key, revision } : { type: 'put', key, value, revision };
}
