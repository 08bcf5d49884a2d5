import { Buffer } from 'node:buffer';
import { array, assert, double, option, property, record, string, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PackableRecord, packRecords, RecordReader } from './records.ts';

function readAll(packed: Uint8Array): readonly PackableRecord[] {
  const reader = new RecordReader(packed);
  const records: PackableRecord[] = [];
  while (reader.next()) {
    records.push({ key: reader.key(), value: reader.value, number: reader.number });
  }
  return records;
}

describe('packRecords', () => {
  test('packed records can be read again', () => {
    const some = record({
      key: string({ unit: 'grapheme' }),
      value: option(uint8Array(), { nil: undefined }),
      number: double({ noNaN: true }),
    });
    assert(
      property(array(some), (records) => {
        const expected = records.map(({ key, value, number }) => ({
          key,
          value: value === undefined ? undefined : Buffer.from(value),
          number,
        }));
        expect(readAll(packRecords(records))).toEqual(expected);
      }),
    );
  });

  test('takes memory of its own, so that it can be handed over', () => {
    const packed = packRecords([{ key: 'a', value: Buffer.from('b'), number: 1 }]);
    expect(packed.buffer.byteLength).toBe(packed.length);
  });

  test('an empty value is not a deletion', () => {
    const [empty, deletion] = readAll(
      packRecords([
        { key: '/a', value: Buffer.alloc(0), number: 1 },
        { key: '/b', value: undefined, number: 2 },
      ]),
    );
    expect(empty?.value).toEqual(Buffer.alloc(0));
    expect(deletion?.value).toBeUndefined();
  });
});
