import { describe, expect, test } from 'vitest';
import type { EmptyDirVolumeSource, Pod } from '#api/schema/gen/core-v1.ts';
import { hasSizeLimits, headroom, limitExceeded } from './local-storage.ts';

const podOf = (volumes: Readonly<Record<string, EmptyDirVolumeSource>>): Pod => ({
  spec: {
    containers: [],
    volumes: [
      ...Object.entries(volumes).map(([name, emptyDir]) => ({ name, emptyDir })),
      { name: 'conf', configMap: { name: 'x' } },
    ],
  },
});
const MI = 2 ** 20;
const use = (bytes: Readonly<Record<string, number>>) => new Map(Object.entries(bytes));

describe('limitExceeded', () => {
  const pod = podOf({ free: {}, small: { sizeLimit: '10Mi' }, large: { sizeLimit: '1024Mi' } });
  test.each([
    ['nothing is known', {}],
    ['the limit is reached', { small: 10 * MI }],
    ['what has no limit is large', { free: 1e12, conf: 1e12 }],
  ])('is nothing when %s', (_, bytes) => expect(limitExceeded(pod, use(bytes))).toBeUndefined());

  test('says which volume is larger than which limit', () => {
    expect(limitExceeded(pod, use({ small: 10 * MI + 1 }))).toBe(
      'Usage of EmptyDir volume "small" exceeds the limit "10Mi". ',
    );
    expect(limitExceeded(pod, use({ small: 1, large: 2 ** 31 }))).toBe(
      'Usage of EmptyDir volume "large" exceeds the limit "1Gi". ',
    );
  });

  test('holds for volumes in memory too', () => {
    const memory = podOf({ m: { medium: 'Memory', sizeLimit: '1Mi' } });
    expect(limitExceeded(memory, use({ m: 2 * MI }))).toContain('"m"');
  });

  test.each(['0', '-1', 'much'])('takes %s for no limit', (sizeLimit) => {
    expect(limitExceeded(podOf({ v: { sizeLimit } }), use({ v: 1e15 }))).toBeUndefined();
  });
});

describe('hasSizeLimits', () => {
  test.each([
    ['a volume on disk with a limit', { v: { sizeLimit: '1' } }, true],
    ['volumes without limits', { v: {}, w: { sizeLimit: '0' } }, false],
    [
      'volumes in memory, which cannot grow beyond theirs',
      { v: { medium: 'Memory', sizeLimit: '1' } },
      false,
    ],
  ] as const)('for %s', (_, volumes, expected) => expect(hasSizeLimits(podOf(volumes))).toBe(expected));
});

describe('headroom', () => {
  test('is what the fullest of the volumes on disk has left', () => {
    const pod = podOf({ a: { sizeLimit: '100' }, b: { sizeLimit: '50' }, c: {} });
    expect(headroom(pod, use({}))).toBe(50);
    expect(headroom(pod, use({ a: 90, b: 10 }))).toBe(10);
    expect(headroom(pod, use({ a: 120 }))).toBe(-20);
    expect(headroom(podOf({}), use({}))).toBe(Number.POSITIVE_INFINITY);
  });
});
