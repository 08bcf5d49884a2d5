import { once } from 'node:events';
import { createGunzip, gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createGzip } from './gzip-stream.ts';

const ALL = 50;
const event = (name: string): string => `{"type":"ADDED","object":{"metadata":{"name":"${name}"}}}\n`;
const EVENTS = Buffer.from(Array.from({ length: 300 }, (_, index) => event(`pod-${index}`)).join(''));

/** The whole stream of these pieces. */
function streamOf(pieces: readonly (readonly [bytes: Buffer, readers: number])[]): Buffer {
  const { head, write, end } = createGzip()();
  const written = pieces.map(([bytes, readers]) => write(bytes, readers));
  return Buffer.concat([head, ...written, end()]);
}

describe('createGzip', () => {
  test('creates streams with the written content, however many share it', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((given) => Buffer.from(given)),
      fc
        .tuple(fc.string({ minLength: 1, maxLength: 5 }), fc.constantFrom(1, 20_000, 70_000))
        .map(([text, times]) => Buffer.from(text.repeat(times))),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(bytes, fc.constantFrom(1, 2, ALL)), { maxLength: 6 }), (pieces) => {
        const whole = Buffer.concat(pieces.map(([given]) => given));
        expect(gunzipSync(streamOf(pieces)).equals(whole)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test.each([0xffff, 0x10000, 3 * 0xffff, 2 * 1024 * 1024])('takes %i bytes at once', (size) => {
    const bytes = Buffer.alloc(size, 'no').fill('yes', size >> 1);
    for (const readers of [1, ALL]) {
      expect(gunzipSync(streamOf([[bytes, readers]])).equals(bytes)).toBe(true);
    }
  });

  test('lets readers have each piece at once', async () => {
    const { head, write } = createGzip()();
    const reader = createGunzip();
    reader.write(head);
    for (const [bytes, readers] of [
      [Buffer.from(event('a')), 1],
      [EVENTS, ALL],
      [Buffer.from(event('b')), 1],
    ] as const) {
      reader.write(write(bytes, readers));
      let read = '';
      while (read.length < bytes.length) {
        const [chunk] = (await once(reader, 'data')) as [Buffer];
        read += chunk.toString();
      }
      expect(read).toBe(bytes.toString());
    }
    reader.destroy();
  });

  test('compresses content that enough readers share, once for all of them', () => {
    const begin = createGzip();
    const [one, other] = [begin(), begin()];
    expect(one.write(Buffer.from(event('first')), 1)).toBeInstanceOf(Buffer);
    const piece = one.write(EVENTS, ALL);
    expect(other.write(EVENTS, ALL)).toBe(piece);
    expect(piece.length).toBeLessThan(EVENTS.length / 5);
  });

  test('does not compress content for few readers, little content, and content that would take too long', () => {
    const { write } = createGzip()();
    for (const [bytes, readers] of [
      [Buffer.from(EVENTS), 1],
      [Buffer.from(EVENTS), 7],
      [Buffer.from(event('a')), ALL],
      [Buffer.alloc(1024 * 1024 + 1), ALL],
    ] as const) {
      expect(write(bytes, readers).length).toBeGreaterThan(bytes.length);
    }
  });
});
