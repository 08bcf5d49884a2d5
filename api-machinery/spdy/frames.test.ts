import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SpdyProtocolError } from './errors.ts';
import { createFrameReader } from './frame-reader.ts';
import { encodeFrame, type SpdyFrame } from './frames.ts';

type Sendable = Exclude<SpdyFrame, { kind: 'unknown' }>;

const id = fc.integer({ min: 0, max: 0x7fffffff });
const word = fc.integer({ min: 0, max: 0xffffffff });
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const block = { streamId: id, fin: fc.boolean(), headerBlock: bytes };

const frameArbitrary: fc.Arbitrary<Sendable> = fc.oneof(
  fc.record({ kind: fc.constant('data' as const), streamId: id, fin: fc.boolean(), data: bytes }),
  fc.record({
    kind: fc.constant('synStream' as const),
    ...block,
    associatedTo: id,
    priority: fc.integer({ min: 0, max: 7 }),
    unidirectional: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom('synReply' as const, 'headers' as const), ...block }),
  fc.record({ kind: fc.constant('rstStream' as const), streamId: id, status: word }),
  fc.record({
    kind: fc.constant('settings' as const),
    entries: fc.array(fc.record({ id: fc.integer({ min: 0, max: 0xffffff }), value: word }), {
      maxLength: 5,
    }),
  }),
  fc.record({ kind: fc.constant('ping' as const), id: word }),
  fc.record({ kind: fc.constant('goAway' as const), lastStreamId: id, status: word }),
  fc.record({ kind: fc.constant('windowUpdate' as const), streamId: id, delta: id }),
);

/** Cuts bytes into pieces of the given sizes, repeatedly. */
function cut(data: Buffer, sizes: readonly number[]): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < data.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(data.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

describe('frames', () => {
  test('survive any cutting of the byte stream', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(frameArbitrary, { maxLength: 8 }), sizes, (frames, pieceSizes) => {
        const reader = createFrameReader();
        const wire = Buffer.concat(frames.map(encodeFrame));
        const decoded = cut(wire, pieceSizes).flatMap((piece) => [...reader.feed(piece)]);
        expect(decoded).toEqual(frames);
      }),
    );
  });

  test('have the layout of the protocol', () => {
    const syn = encodeFrame({
      kind: 'synStream',
      streamId: 1,
      associatedTo: 0,
      priority: 3,
      fin: true,
      unidirectional: false,
      headerBlock: Buffer.from('ab'),
    });
    expect(syn.toString('hex')).toBe('800300010100000c000000010000000060006162');
    const data = encodeFrame({ kind: 'data', streamId: 5, fin: false, data: Buffer.from('hi') });
    expect(data.toString('hex')).toBe('00000005000000026869');
  });

  test.each<[string, string]>([
    ['another version', '800200060000000400000001'],
    ['a short RST_STREAM', '800300030000000400000001'],
    ['SETTINGS that promise more than they hold', '80030004000000047fffffff'],
    ['a frame of 16 MiB', '0000000100ffffff'],
  ])('refuse %s', (_, hex) => {
    expect(() => [...createFrameReader().feed(Buffer.from(hex, 'hex'))]).toThrow(SpdyProtocolError);
  });

  test('of unknown types are marked to be ignored', () => {
    expect([...createFrameReader().feed(Buffer.from('8003006300000001ff', 'hex'))]).toEqual([
      { kind: 'unknown', type: 0x63 },
    ]);
  });
});
