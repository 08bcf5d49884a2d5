import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bytesToFree,
  type ImageGcPolicy,
  type ImageMemory,
  rememberImages,
  removableImages,
  type SeenImage,
} from './image-gc.ts';

const POLICY: ImageGcPolicy = { highPercent: 85, lowPercent: 80, minAgeMs: 100 };
const image = (id: string, more: Partial<SeenImage> = {}): SeenImage => ({
  id,
  sizeBytes: 10,
  pinned: false,
  ...more,
});

test.each<[string, number, number, Partial<ImageGcPolicy>, number]>([
  ['nothing below the high mark', 1000, 151, {}, 0],
  ['down to the low mark at the high mark', 1000, 150, {}, 50],
  ['down to the low mark when the disk is full', 1000, 0, {}, 200],
  ['nothing where it is switched off', 1000, 0, { highPercent: 100 }, 0],
  ['nothing where the disk is not known', 0, 0, {}, 0],
  ['at least to the mark of odd sizes', 999, 0, {}, 200],
])('frees %s', (_, capacityBytes, availableBytes, more, bytes) => {
  expect(bytesToFree({ capacityBytes, availableBytes }, { ...POLICY, ...more })).toBe(bytes);
});

describe('an image', () => {
  const images = [image('never-old'), image('never-new'), image('used'), image('pinned', { pinned: true })];
  const idsAfter = (memory: ImageMemory, nowMs: number, inUse: readonly string[] = []): readonly string[] =>
    removableImages({ nowMs, images, inUse: new Set(inUse) }, memory, POLICY.minAgeMs).map(({ id }) => id);
  const memory: ImageMemory = new Map([
    ['never-old', { firstSeenMs: 0, lastUsedMs: undefined }],
    ['never-new', { firstSeenMs: 50, lastUsedMs: undefined }],
    ['used', { firstSeenMs: 0, lastUsedMs: 60 }],
    ['pinned', { firstSeenMs: 0, lastUsedMs: undefined }],
  ]);

  test('is removed when it was idle for longest, never used ones first, the oldest first', () => {
    expect(idsAfter(memory, 1000)).toEqual(['never-old', 'never-new', 'used']);
  });

  test('is retained while it is young, in use, or unknown', () => {
    expect(idsAfter(memory, 149)).toEqual(['never-old', 'used']);
    expect(idsAfter(memory, 1000, ['never-old'])).toEqual(['never-new', 'used']);
    expect(idsAfter(new Map(), 1000)).toEqual([]);
  });

  test('is recorded with its first detection and last use', () => {
    const look = (nowMs: number, inUse: readonly string[]): Parameters<typeof rememberImages>[1] => ({
      nowMs,
      images: [image('a')],
      inUse: new Set(inUse),
    });
    let known = rememberImages(undefined, look(1, []));
    expect(known.get('a')).toEqual({ firstSeenMs: Number.NEGATIVE_INFINITY, lastUsedMs: undefined });
    known = rememberImages(new Map(), look(1, []));
    expect(known.get('a')).toEqual({ firstSeenMs: 1, lastUsedMs: undefined });
    known = rememberImages(rememberImages(known, look(2, ['a'])), look(3, []));
    expect(known.get('a')).toEqual({ firstSeenMs: 1, lastUsedMs: 2 });
    expect(rememberImages(known, { nowMs: 4, images: [], inUse: new Set() }).size).toBe(0);
  });
});

test('images in use, pinned or young are always retained', () => {
  const arbitrary = fc.uniqueArray(
    fc.record({
      id: fc.string({ minLength: 1 }),
      pinned: fc.boolean(),
      inUse: fc.boolean(),
      age: fc.nat(200),
    }),
    { selector: ({ id }) => id },
  );
  fc.assert(
    fc.property(arbitrary, (all) => {
      const memory = new Map(
        all.map(({ id, age }) => [id, { firstSeenMs: 500 - age, lastUsedMs: undefined }]),
      );
      const inUse = new Set(all.filter((one) => one.inUse).map(({ id }) => id));
      const images = all.map(({ id, pinned }) => image(id, { pinned }));
      const removed = new Set(
        removableImages({ nowMs: 500, images, inUse }, memory, 100).map(({ id }) => id),
      );
      const expected = all.filter((one) => !one.pinned && !one.inUse && one.age >= 100).map(({ id }) => id);
      expect(removed).toEqual(new Set(expected));
    }),
  );
});
