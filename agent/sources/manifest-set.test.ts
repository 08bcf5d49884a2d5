import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createManifestReader } from './manifest-set.ts';
import type { ManifestSet } from './types.ts';

const words = VOCABULARIES.plat;

const place = { source: 'file', location: '/m/a.yaml' } as const;
const signal = new AbortController().signal;

function createParts() {
  const clock = createFakeClock();
  const read = createManifestReader({ clock, nodeName: 'n1', vocabulary: VOCABULARIES.plat });
  return {
    clock,
    read: (text: string, previous?: ManifestSet): Promise<ManifestSet> =>
      read(Buffer.from(text), place, previous, signal),
  };
}

const pod = (name: string, image = 'busybox', extra = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers:\n  - {name: main, image: ${image}}\n${extra}`;
const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n';

describe('createManifestReader', () => {
  test('reads pods with defaults and identity, and objects as they are stored', async () => {
    const { read } = createParts();
    const set = await read(`${pod('web')}---\n${secret}`);
    expect(set.rejected).toEqual([]);
    expect(set.pods[0]).toMatchObject({
      origin: { ...place, document: '1' },
      pod: { metadata: { name: 'web-n1' }, spec: { restartPolicy: 'Always', nodeName: 'n1' } },
    });
    expect(set.objects[0]).toMatchObject({
      origin: { document: '2' },
      object: { kind: 'Secret', metadata: { namespace: 'default' }, data: { password: 'aHVudGVyMg==' } },
    });
  });

  test('reports document, item, field and identity of every error, and uses the rest', async () => {
    const { read } = createParts();
    const list = JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'UPPER' } });
    const set = await read(
      `${pod('good')}---\napiVersion: v1\nkind: List\nitems:\n- ${list}\n---\n${pod('bad', 'b', '  nonsense: 1\n')}---\nkind: Deployment\napiVersion: apps/v1\n`,
    );
    expect(set.pods).toHaveLength(1);
    expect(
      set.rejected.map(({ origin, identity, errors }) => [
        origin.document,
        identity,
        errors.map(({ field }) => field),
      ]),
    ).toEqual([
      ['2[0]', 'ConfigMap default/UPPER', ['metadata.name']],
      ['3', 'Pod default/bad', ['spec.nonsense']],
      ['4', 'Deployment', ['kind']],
    ]);
  });

  test('reports a duplicate key and the other errors of the same document', async () => {
    const { read } = createParts();
    const set = await read(`${pod('web')}  hostNetwork: true\n  hostNetwork: false\n  nonsense: 1\n`);
    expect(set.pods).toEqual([]);
    expect(set.rejected).toHaveLength(1);
    expect(set.rejected[0]?.errors.length).toBeGreaterThanOrEqual(1);
  });

  test('rejects a uid that could leave its directory', async () => {
    const { read } = createParts();
    const set = await read(pod('web').replace('{name: web}', '{name: web, uid: ../../../etc}'));
    expect(set.rejected[0]?.errors[0]).toMatchObject({ field: 'metadata.uid', badValue: '../../../etc' });
  });

  test('checks the name with its suffix', async () => {
    const { read } = createParts();
    const set = await read(pod('x'.repeat(251)));
    expect(set.rejected[0]?.errors[0]?.field).toBe('metadata.name');
  });

  test('returns the same entries for the same content, with their first-seen time', async () => {
    const { clock, read } = createParts();
    const first = await read(`${pod('web')}---\n${secret}`);
    await clock.advance(60_000);
    const again = await read(`# moved\n${pod('web')}---\n${secret}`, first);
    expect(again.pods[0]).toBe(first.pods[0]);
    expect(again.objects[0]).toBe(first.objects[0]);
    const moved = await read(`${secret}---\n${pod('web')}`, first);
    expect(moved.pods[0]?.origin.document).toBe('2');
    expect(moved.pods[0]?.pod).toBe(first.pods[0]?.pod);
    const changed = await read(pod('web', 'other'), first);
    expect(changed.pods[0]?.pod.metadata?.annotations?.[words.configSeen]).toBe('2023-11-14T22:14:20.000Z');
    expect(changed.pods[0]?.pod.metadata?.uid).not.toBe(first.pods[0]?.pod.metadata?.uid);
  });

  test('JSON and YAML of the same pod are the same pod', async () => {
    const { read } = createParts();
    const json = JSON.stringify({
      spec: { containers: [{ image: 'busybox', name: 'main' }] },
      metadata: { name: 'web' },
      kind: 'Pod',
      apiVersion: 'v1',
    });
    const uidOf = (set: ManifestSet): string | undefined => set.pods[0]?.pod.metadata?.uid;
    expect(uidOf(await read(json))).toBe(uidOf(await read(pod('web'))));
  });

  test.each([
    ['# nothing but a comment\n'],
    ['---\n---\n'],
    ['{"apiVersion":"v1","kind":"PodList","items":[]}'],
  ])('finds nothing in %j', async (text) => {
    expect(await createParts().read(text)).toEqual({ pods: [], objects: [], rejected: [] });
  });

  test('ends on abort', async () => {
    const read = createManifestReader({
      clock: createFakeClock(),
      nodeName: 'n1',
      vocabulary: VOCABULARIES.plat,
    });
    const text = Array.from({ length: 400 }, (_, i) => pod(`p${i}`)).join('---\n');
    const reason = new Error('enough');
    await expect(read(Buffer.from(text), place, undefined, AbortSignal.abort(reason))).rejects.toThrow(
      /abort|enough/u,
    );
  });
});

const [vocabulary] = Object.values(VOCABULARIES);

async function readManifest(manifest: object): Promise<ManifestSet> {
  if (vocabulary === undefined) throw new Error('there is no vocabulary');
  const reader = createManifestReader({ clock: { now: () => 1 }, nodeName: 'n', vocabulary });
  const bytes = Buffer.from(JSON.stringify(manifest));
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
    expect((await readManifest(podOf({ [field]: many(most, item) }))).pods).toHaveLength(1);
    const { pods, rejected } = await readManifest(podOf({ [field]: many(most + 1, item) }));
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
    const { rejected } = await readManifest(podOf({ containers: [{ name: 'c', image: 'x', ports }] }));
    const errors = rejected[0]?.errors ?? [];
    expect(errors).toHaveLength(101);
    expect(errors[0]?.field).toBe('spec.containers[0].ports[0].containerPort');
    expect(errors.at(-1)?.detail).toBe(omitted);
  });

  test.each(['../../x', '.', '..', 'a/b', '/etc', 'a\0b', ' ', '-a', 'a'.repeat(64)])(
    'cannot control paths by the uid %j',
    async (uid) => {
      const { pods, rejected } = await readManifest(podOf({}, { uid }));
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
    expect((await readManifest(manifest)).rejected[0]?.errors.map((error) => error.field)).toEqual([field]);
  });

  test('keeps keys with a meaning in JavaScript as data', async () => {
    const data: object = JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}') as object;
    const { objects } = await readManifest({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'm' },
      data,
    });
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
