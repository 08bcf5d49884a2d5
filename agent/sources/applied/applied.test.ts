import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { SourceSnapshot } from '../types.ts';
import { type AppliedStore, createAppliedStore, parseKindName } from './applied.ts';
import { AppliedStoreError, appliedFileName } from './applied-files.ts';

const words = VOCABULARIES.plat;

let base = '';
let dir = '';

beforeEach(() => {
  base = mkdtempSync('/tmp/na-src-');
  dir = join(base, 'applied');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function open(): AppliedStore {
  const clock = createFakeClock();
  return createAppliedStore({ dir, log: silentLogger, clock, nodeName: 'n1', vocabulary: VOCABULARIES.plat });
}

/** Returns the first delivery of the store after a restart. */
async function restart(): Promise<SourceSnapshot> {
  const stop = new AbortController();
  const first = Promise.withResolvers<SourceSnapshot>();
  const running = open().run(stop.signal, first.resolve);
  const snapshot = await first.promise;
  stop.abort();
  await running;
  return snapshot;
}

const pod = (name: string, image = 'busybox'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers:\n  - {name: main, image: ${image}}\n`;
const configMap = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {k: v}\n`;

const outcomes = async (store: AppliedStore, text: string): Promise<readonly string[]> =>
  (await store.apply(text)).map(({ document, identity, outcome }) => `${document} ${identity} ${outcome}`);
const names = ({ pods }: { pods: SourceSnapshot['pods'] }): readonly string[] =>
  pods.map((entry) => entry.pod.metadata?.name ?? '');

describe('createAppliedStore', () => {
  test('reports the result for each document', async () => {
    const store = open();
    expect(await outcomes(store, `${pod('web')}---\n${configMap('cm')}`)).toEqual([
      '1 Pod default/web created',
      '2 ConfigMap default/cm created',
    ]);
    expect(await outcomes(store, `${pod('web', 'other')}---\n${configMap('cm')}`)).toEqual([
      '1 Pod default/web configured',
      '2 ConfigMap default/cm unchanged',
    ]);
  });

  test('applies valid documents next to invalid ones and reports why', async () => {
    const store = open();
    const text = `${pod('good')}---\nkind: Pod\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: []}\n`;
    const results = await store.apply(text);
    expect(results.map(({ outcome }) => outcome)).toEqual(['created', 'rejected', 'rejected']);
    expect(results[1]?.errors[0]?.field).toBe('apiVersion');
    expect(results[2]).toMatchObject({ identity: 'Pod default/bad', errors: [{ field: 'spec.containers' }] });
    expect(names(store.list())).toEqual(['good']);
  });

  test('reads lists, JSON, and reports text that is neither', async () => {
    const store = open();
    const item = { metadata: { name: 'a' }, spec: { containers: [{ name: 'm', image: 'i' }] } };
    expect(
      await outcomes(store, JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [item] })),
    ).toEqual(['1[0] Pod default/a created']);
    expect(await outcomes(store, 'a: [')).toEqual(['1 Document 1 rejected']);
    expect(names(await restart())).toEqual(['a']);
  });

  test('pods keep their own name and get the rest of a static identity', async () => {
    const store = open();
    await store.apply(pod('web'));
    const { metadata, spec } = store.list().pods[0]?.pod ?? {};
    expect(metadata).toMatchObject({
      name: 'web',
      namespace: 'default',
      uid: expect.stringMatching(/^[0-9a-f]{32}$/u) as unknown,
      annotations: { [words.configSource]: 'socket', [words.configHash]: metadata?.uid },
    });
    expect(spec?.nodeName).toBe('n1');
  });

  test('delivers at once and after each change, not after a read or a rejection', async () => {
    const store = open();
    const seen: (readonly string[])[] = [];
    const stop = new AbortController();
    const first = Promise.withResolvers<void>();
    const running = store.run(stop.signal, (snapshot) => {
      seen.push(names(snapshot));
      first.resolve();
    });
    await first.promise;
    await store.apply(pod('web'));
    await store.apply(pod('web'));
    await store.apply('kind: Nonsense');
    expect(await store.delete({ kind: 'pod', namespace: '', name: 'web' })).toBe(true);
    expect(await store.delete({ kind: 'pod', namespace: '', name: 'web' })).toBe(false);
    stop.abort();
    await running;
    await store.apply(pod('late'));
    expect(seen).toEqual([[], ['web'], []]);
  });

  test('survives a restart with the same identities', async () => {
    const store = open();
    await store.apply(`${pod('web')}---\n${configMap('cm')}---\n${pod('gone')}`);
    await store.delete({ kind: 'Pod', namespace: 'default', name: 'gone' });
    const before = store.list();
    const after = await restart();
    expect(names(after)).toEqual(['web']);
    expect(after.pods[0]?.pod.metadata?.uid).toBe(before.pods[0]?.pod.metadata?.uid);
    expect(after.objects.map(({ object }) => object.metadata?.name)).toEqual(['cm']);
    expect(after.rejected).toEqual([]);
  });

  test('writes files for root only and leaves none behind', async () => {
    const store = open();
    await store.apply(pod('web'));
    expect(readdirSync(dir)).toEqual(['Pod.default.web.json']);
    expect(statSync(join(dir, 'Pod.default.web.json')).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(join(dir, 'Pod.default.web.json'), 'utf8'))).toMatchObject({ version: 1 });
    await store.delete({ kind: 'pods', namespace: 'default', name: 'web' });
    expect(readdirSync(dir)).toEqual([]);
  });

  test('after a crash removes partial files, sets broken ones aside, and runs the rest', async () => {
    const store = open();
    await store.apply(`${pod('good')}---\n${pod('cut')}---\n${pod('zero')}---\n${pod('newer')}`);
    writeFileSync(join(dir, '.tmp-0011223344556677'), '{"version":1,"mani');
    const cut = readFileSync(join(dir, 'Pod.default.cut.json'), 'utf8');
    writeFileSync(join(dir, 'Pod.default.cut.json'), cut.slice(0, 40));
    writeFileSync(join(dir, 'Pod.default.zero.json'), '');
    writeFileSync(join(dir, 'Pod.default.newer.json'), '{"version":2,"manifest":{}}');
    mkdirSync(join(dir, 'Pod.default.dir.json'));
    const after = await restart();
    expect(names(after)).toEqual(['good']);
    expect(after.rejected.map(({ origin }) => origin.location)).toEqual([
      'Pod.default.cut.json',
      'Pod.default.dir.json',
      'Pod.default.newer.json',
      'Pod.default.zero.json',
    ]);
    expect(readdirSync(dir).toSorted()).toEqual([
      'Pod.default.cut.json.broken',
      'Pod.default.dir.json.broken',
      'Pod.default.good.json',
      'Pod.default.newer.json',
      'Pod.default.zero.json.broken',
    ]);
    expect((await restart()).rejected.map(({ origin }) => origin.location)).toEqual([
      'Pod.default.newer.json',
    ]);
  });

  test('a broken object can be applied again', async () => {
    mkdirSync(dir);
    writeFileSync(join(dir, 'Pod.default.web.json'), 'not json');
    const store = open();
    expect(await outcomes(store, pod('web'))).toEqual(['1 Pod default/web created']);
    const after = await restart();
    expect(names(after)).toEqual(['web']);
    expect(after.rejected).toEqual([]);
  });

  test('an object that cannot be persisted is rejected and not run', async () => {
    const store = open();
    await store.apply(pod('first'));
    rmSync(dir, { recursive: true });
    writeFileSync(dir, 'a file in the way');
    const [result] = await store.apply(pod('web'));
    expect(result?.outcome).toBe('rejected');
    expect(result?.errors[0]?.detail).toContain('saving Pod.default.web.json');
    expect(names(store.list())).toEqual(['first']);
    await expect(store.delete({ kind: 'pod', namespace: '', name: 'first' })).rejects.toBeInstanceOf(
      AppliedStoreError,
    );
    expect(names(store.list())).toEqual(['first']);
  });

  test('concurrent calls are serialized', async () => {
    const store = open();
    await Promise.all([...Array(20).keys()].map((i) => store.apply(pod('web', `image${i % 3}`))));
    await Promise.all([store.apply(pod('other')), store.delete({ kind: 'po', namespace: '', name: 'web' })]);
    expect(names(store.list())).toEqual(['other']);
    expect(names(await restart())).toEqual(['other']);
    expect(existsSync(join(dir, 'Pod.default.web.json'))).toBe(false);
  });
});

describe('appliedFileName', () => {
  test.each([
    [{ kind: 'Pod', namespace: 'default', name: 'web' }, /^Pod\.default\.web\.json$/u],
    [{ kind: 'PersistentVolume', namespace: '', name: 'disk' }, /^PersistentVolume\._\.disk\.json$/u],
    [
      { kind: 'Pod', namespace: 'a', name: '../../etc/passwd' },
      /^Pod\.a\.\.\._\.\._etc_passwd\.[0-9a-f]{16}\.json$/u,
    ],
    [{ kind: 'Pod', namespace: 'a', name: 'x'.repeat(253) }, /^Pod\.a\.x{194}\.[0-9a-f]{16}\.json$/u],
  ])('names %j without ever leaving the directory', (key, pattern) => {
    expect(appliedFileName(key)).toMatch(pattern);
  });

  test('distinguishes long and unusual names', () => {
    const key = { kind: 'Pod', namespace: 'a', name: `${'x'.repeat(250)}a` };
    expect(appliedFileName(key)).not.toBe(appliedFileName({ ...key, name: `${'x'.repeat(250)}b` }));
    expect(appliedFileName({ ...key, name: 'a/b' })).not.toBe(appliedFileName({ ...key, name: 'a_b' }));
  });
});

describe('parseKindName', () => {
  test.each([
    ['pod', 'Pod'],
    ['Pods', 'Pod'],
    ['CM', 'ConfigMap'],
    ['configmaps', 'ConfigMap'],
    ['pvc', 'PersistentVolumeClaim'],
    ['endpoints', 'Endpoints'],
    ['ep', 'Endpoints'],
    ['persistentvolumes', 'PersistentVolume'],
    ['deployment', undefined],
    ['constructor', undefined],
    ['', undefined],
  ])('%s means %s', (word, kind) => {
    expect(parseKindName(word)).toBe(kind);
  });
});
