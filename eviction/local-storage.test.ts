import { describe, expect, test } from 'vitest';
import type { EmptyDirVolumeSource, Pod } from '#api/gen/core-v1.ts';
import {
  hasContainerLimits,
  hasLimits,
  headroom,
  limitExceeded,
  NO_USE,
  type PodUse,
} from './local-storage.ts';

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
const use = (bytes: Readonly<Record<string, number>>): PodUse => ({
  ...NO_USE,
  volumes: new Map(Object.entries(bytes)),
});

describe('limitExceeded', () => {
  const pod = podOf({ free: {}, small: { sizeLimit: '10Mi' }, large: { sizeLimit: '1024Mi' } });
  test.each([
    ['nothing is known', {}],
    ['the limit is reached', { small: 10 * MI }],
    ['what has no limit is large', { free: 1e12, conf: 1e12 }],
  ])('is nothing when %s', (_, bytes) => expect(limitExceeded(pod, use(bytes))).toBeUndefined());

  test('reports the volume and its limit', () => {
    expect(limitExceeded(pod, use({ small: 10 * MI + 1 }))).toBe(
      'Usage of EmptyDir volume "small" exceeds the limit "10Mi". ',
    );
    expect(limitExceeded(pod, use({ small: 1, large: 2 ** 31 }))).toBe(
      'Usage of EmptyDir volume "large" exceeds the limit "1Gi". ',
    );
  });

  test('applies to volumes in memory too', () => {
    const memory = podOf({ m: { medium: 'Memory', sizeLimit: '1Mi' } });
    expect(limitExceeded(memory, use({ m: 2 * MI }))).toContain('"m"');
  });

  test.each(['0', '-1', 'much'])('takes %s for no limit', (sizeLimit) => {
    expect(limitExceeded(podOf({ v: { sizeLimit } }), use({ v: 1e15 }))).toBeUndefined();
  });
});

describe('hasLimits', () => {
  test.each([
    ['a volume on disk with a limit', { v: { sizeLimit: '1' } }, true],
    ['volumes without limits', { v: {}, w: { sizeLimit: '0' } }, false],
    [
      'volumes in memory, which cannot grow beyond theirs',
      { v: { medium: 'Memory', sizeLimit: '1' } },
      false,
    ],
  ] as const)('for %s', (_, volumes, expected) => expect(hasLimits(podOf(volumes))).toBe(expected));
});

describe('headroom', () => {
  test('is that of the fullest volume on disk', () => {
    const pod = podOf({ a: { sizeLimit: '100' }, b: { sizeLimit: '50' }, c: {} });
    expect(headroom(pod, use({}))).toBe(50);
    expect(headroom(pod, use({ a: 90, b: 10 }))).toBe(10);
    expect(headroom(pod, use({ a: 120 }))).toBe(-20);
    expect(headroom(podOf({}), use({}))).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('ephemeral-storage limits', () => {
  const container = (name: string, limit?: string) => ({
    name,
    ...(limit === undefined ? {} : { resources: { limits: { 'ephemeral-storage': limit } } }),
  });
  const pod: Pod = {
    spec: {
      containers: [container('a', '10Mi'), container('b', '20Mi'), container('free')],
      initContainers: [container('first', '25Mi')],
      volumes: [
        { name: 'conf', configMap: { name: 'x' } },
        { name: 'scratch', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'host', hostPath: { path: '/x' } },
      ],
    },
  };
  const containers = (
    all: Readonly<Record<string, readonly [layer: number, log: number]>>,
    more: Partial<PodUse> = {},
  ): PodUse => ({
    ...NO_USE,
    containers: new Map(
      Object.entries(all).map(([name, [layerBytes, logBytes]]) => [name, { layerBytes, logBytes }]),
    ),
    layersBytes: Object.values(all).reduce((sum, [layer]) => sum + layer, 0),
    ...more,
  });
  const whole = 'Pod ephemeral local storage usage exceeds the total limit of containers 30Mi. ';

  test.each<[string, PodUse, string | undefined]>([
    ['nothing is known', NO_USE, undefined],
    ['a container is at its limit', containers({ a: [6 * MI, 4 * MI] }), undefined],
    [
      'layer and log of a container are more than it may have',
      containers({ a: [6 * MI, 4 * MI + 1] }),
      'Container a exceeded its local ephemeral storage limit "10Mi". ',
    ],
    ['all of them are more than all may have', containers({ a: [9 * MI, 0], free: [0, 22 * MI] }), whole],
    [
      'volumes and files on the disk are what is too much',
      containers(
        {},
        {
          volumes: new Map([
            ['scratch', 29 * MI],
            ['conf', MI],
          ]),
          filesBytes: 1,
        },
      ),
      whole,
    ],
    [
      'it is in memory, or of the host',
      containers(
        {},
        {
          volumes: new Map([
            ['memory', 99 * MI],
            ['host', 99 * MI],
          ]),
        },
      ),
      undefined,
    ],
  ])('when %s', (_, given, expected) => expect(limitExceeded(pod, given)).toBe(expected));

  test('an init container may need more than all others', () => {
    const early: Pod = {
      spec: { containers: [container('a', '1Mi')], initContainers: [container('i', '8Mi')] },
    };
    expect(headroom(early, containers({ a: [0, MI] }))).toBe(0);
    expect(limitExceeded(early, containers({}, { filesBytes: 8 * MI + 1 }))).toContain('of containers 8Mi. ');
  });

  test('only a pod with such limits is enforced', () => {
    expect([hasLimits(pod), hasContainerLimits(pod)]).toEqual([true, true]);
    const free: Pod = { spec: { containers: [container('free')] } };
    expect([hasLimits(free), hasContainerLimits(free)]).toEqual([false, false]);
    expect(headroom(free, NO_USE)).toBe(Number.POSITIVE_INFINITY);
  });
});
