import { constants, createDeflate } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDictionary, DICTIONARY_ID } from './dictionary.ts';
import { SpdyProtocolError } from './errors.ts';
import {
  createHeaderCompressor,
  createHeaderDecompressor,
  decodeHeaderBlock,
  type SpdyHeaders,
} from './headers.ts';

function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return ((b << 16) | a) >>> 0;
}

const headersArbitrary: fc.Arbitrary<SpdyHeaders> = fc.dictionary(
  fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/).filter((name) => name !== '__proto__'),
  fc.array(fc.stringMatching(/^[ -~]{0,40}$/), { minLength: 1, maxLength: 3 }),
  { maxKeys: 8 },
);

/** One zlib stream over all blocks, flushed after each, as other implementations send. */
async function compressAsOthersDo(blocks: readonly Buffer[]): Promise<readonly Buffer[]> {
  const deflate = createDeflate({ dictionary: createDictionary() });
  const out: Buffer[] = [];
  for (const block of blocks) {
    const parts: Buffer[] = [];
    const collect = (part: Buffer): void => void parts.push(part);
    deflate.on('data', collect);
    deflate.write(block);
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    deflate.off('data', collect);
    out.push(Buffer.concat(parts));
  }
  deflate.close();
  return out;
}

function plainBlock(headers: SpdyHeaders): Buffer {
  const text = (value: string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(value));
    return Buffer.concat([length, Buffer.from(value)]);
  };
  const count = Buffer.alloc(4);
  count.writeUInt32BE(Object.keys(headers).length);
  const pairs = Object.entries(headers).flatMap(([name, values]) => [text(name), text(values.join('\0'))]);
  return Buffer.concat([count, ...pairs]);
}

describe('createDictionary', () => {
  test('has the checksum and size of the protocol', () => {
    expect(createDictionary()).toHaveLength(1423);
    expect(adler32(createDictionary())).toBe(DICTIONARY_ID);
  });
});

describe('header compression', () => {
  test('reads back its own output, block after block', () => {
    fc.assert(
      fc.property(fc.array(headersArbitrary, { minLength: 1, maxLength: 6 }), (sequence) => {
        const compressor = createHeaderCompressor();
        const decompressor = createHeaderDecompressor();
        for (const headers of sequence) {
          expect(decompressor.decompress(compressor.compress(headers))).toEqual(headers);
        }
      }),
    );
  });

  test('reads streams whose blocks refer to the dictionary and to earlier blocks', async () => {
    const sequence = Array.from({ length: 5 }, (_, index) => ({
      'content-type': ['text/html'],
      streamtype: [`stdin-${index % 2}`],
      'x-long': ['a repeated value that later blocks refer to '.repeat(20 * index)],
    }));
    const decompressor = createHeaderDecompressor();
    for (const [index, block] of (await compressAsOthersDo(sequence.map(plainBlock))).entries()) {
      expect(decompressor.decompress(block)).toEqual(sequence[index]);
    }
  });

  test.each<[string, () => unknown]>([
    ['no zlib stream', () => createHeaderDecompressor().decompress(Buffer.from('hello'))],
    ['an empty block', () => createHeaderDecompressor().decompress(Buffer.alloc(0))],
    [
      'a foreign dictionary',
      () => createHeaderDecompressor().decompress(Buffer.from([0x78, 0xbb, 1, 2, 3, 4, 0])),
    ],
    ['a count without pairs', () => decodeHeaderBlock(Buffer.from([0, 0, 0, 2]))],
    ['an absurd count', () => decodeHeaderBlock(Buffer.from([0xff, 0xff, 0xff, 0xff]))],
    ['a length past the end', () => decodeHeaderBlock(Buffer.from([0, 0, 0, 1, 0, 0, 0, 9, 65]))],
  ])('rejects %s', (_, run) => {
    expect(run).toThrow(SpdyProtocolError);
  });

  test('rejects a block that inflates without end', async () => {
    const [bomb = Buffer.alloc(0)] = await compressAsOthersDo([plainBlock({ a: ['0'.repeat(1_000_000)] })]);
    expect(bomb.length).toBeLessThan(5000);
    expect(() => createHeaderDecompressor().decompress(bomb)).toThrow(SpdyProtocolError);
  });
});
