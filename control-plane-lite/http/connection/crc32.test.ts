import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { joinChecksums, shiftOf } from './crc32.ts';

describe('joinChecksums', () => {
  test('gives the checksum of both parts together', () => {
    const bytes = fc.uint8Array({ maxLength: 400 });
    fc.assert(
      fc.property(bytes, bytes, (first, second) => {
        const joined = joinChecksums(crc32(first), crc32(second), shiftOf(second.length));
        expect(joined).toBe(crc32(Buffer.concat([first, second])));
      }),
    );
  });

  test('knows lengths whose bits no 32-bit number counts', () => {
    const length = fc.nat({ max: 2 ** 40 });
    fc.assert(
      fc.property(length, length, (first, second) => {
        expect(joinChecksums(shiftOf(first), 0, shiftOf(second))).toBe(shiftOf(first + second));
      }),
    );
    expect(shiftOf(0)).toBe(0x80000000);
  });
});
