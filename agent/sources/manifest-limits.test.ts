import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createManifestReader } from './manifest-set.ts';
import type { ManifestSet } from './types.ts';

const [vocabulary] = Object.values(VOCABULARIES);

async function read(manifest: object): Promise<ManifestSet> {
  if (vocabulary === undefined) throw new Error('there is no vocabulary');
  const reader = createManifestReader({ clock: { now: () => 1 }, nodeName: 'n', vocabulary });
  const bytes = Buffer.from(JSON.stringify(manifest));
  const place = { source: 'file', location: '/m/pod.json' } as const;
  return reader(bytes, place, undefined, new AbortController().signal);
}

const podOf = (spec: object, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', ...metadata },
  spec: { containers: [{ name: 'c', image: 'x' }], ...spec },
});

const many = (count: number, item: (index: number) => object): readonly object[] =>
  Array.from({ length: count }, (_, index) => item(index));

describe('a manifest', () => {
  test.each([
    ['containers', 500, (index: number) => ({ name: `c${index}`, image: 'x' })],
    ['initContainers', 500, (index: number) => ({ name: `i${index}`, image: 'x' })],
    ['volumes', 2000, (index: number) => ({ name: `v${index}`, emptyDir: {} })],
  ] as const)('has %s up to a limit', async (field, most, item) => {
    expect((await read(podOf({ [field]: many(most, item) }))).pods).toHaveLength(1);
    const { pods, rejected } = await read(podOf({ [field]: many(most + 1, item) }));
    expect(pods).toEqual([]);
    expect(rejected[0]?.errors).toEqual([
      {
        kind: 'FieldValueTooMany',
        field: `spec.${field}`,
        badValue: most + 1,
        detail: `must have at most ${most} items`,
      },
    ]);
  });

  test.each([
    [5000, 'and at least 100 more errors'],
    [150, 'and 50 more errors'],
  ])('with %d errors is reported with the first of them', async (count, omitted) => {
    const ports = many(count, () => ({ containerPort: -1 }));
    const { rejected } = await read(podOf({ containers: [{ name: 'c', image: 'x', ports }] }));
    const errors = rejected[0]?.errors ?? [];
    expect(errors).toHaveLength(101);
    expect(errors[0]?.field).toBe('spec.containers[0].ports[0].containerPort');
    expect(errors.at(-1)?.detail).toBe(omitted);
  });

  test.each(['../../x', '.', '..', 'a/b', '/etc', 'a\0b', ' ', '-a', 'a'.repeat(64)])(
    'cannot control paths by the uid %j',
    async (uid) => {
      const { pods, rejected } = await read(podOf({}, { uid }));
      expect(pods).toEqual([]);
      expect(rejected[0]?.errors.map(({ field }) => field)).toEqual(['metadata.uid']);
    },
  );

  test.each([
    ['metadata.name', podOf({}, { name: '../x' })],
    ['metadata.namespace', podOf({}, { namespace: '..' })],
    ['spec.containers[0].name', podOf({ containers: [{ name: '../x', image: 'x' }] })],
    ['spec.volumes[0].name', podOf({ volumes: [{ name: '../x', emptyDir: {} }] })],
  ])('cannot control paths by %s', async (field, manifest) => {
    expect((await read(manifest)).rejected[0]?.errors.map((error) => error.field)).toEqual([field]);
  });

  test('keeps keys with a meaning in JavaScript as data', async () => {
    const data: object = JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}') as object;
    const { objects } = await read({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data });
    const [entry] = objects;
    const found = entry?.object.kind === 'ConfigMap' ? (entry.object.data ?? {}) : {};
    expect(Object.entries(found)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['toString', 'c'],
    ]);
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });
});
