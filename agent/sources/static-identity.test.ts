import { assert, jsonValue, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  canonicalJson,
  contentHash,
  podContentHash,
  validateStaticIdentity,
  withStaticIdentity,
} from './static-identity.ts';
import type { SourceName } from './types.ts';

const words = VOCABULARIES.plat;

const pod: Pod = { metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'busybox' }] } };
const context = {
  nodeName: 'n1',
  vocabulary: VOCABULARIES.plat,
  origin: { source: 'file', location: '/m/web.yaml', document: '1' },
} as const;
const seenMs = 1_700_000_000_000;

const hashOf = (manifest: unknown, change: object = {}): string =>
  podContentHash(manifest, { ...context, ...change });
const identify = (of: Pod, source: SourceName = 'file', nodeName = 'n1'): Pod => {
  const at = { ...context, nodeName, origin: { ...context.origin, source } };
  return withStaticIdentity(of, { ...at, seenMs, hash: podContentHash(of, at) });
};

describe('podContentHash', () => {
  test.each<[string, unknown]>([
    ['key order', { spec: pod.spec, metadata: pod.metadata }],
    ['namespace default', { ...pod, metadata: { name: 'web', namespace: 'default' } }],
    ['a status', { ...pod, status: { phase: 'Running' } }],
    [
      'bookkeeping',
      { ...pod, metadata: { ...pod.metadata, resourceVersion: '7', generation: 3, creationTimestamp: null } },
    ],
    ['apiVersion and kind', { ...pod, apiVersion: 'v1', kind: 'Pod' }],
    ['our own annotations', { ...pod, metadata: { name: 'web', annotations: { [words.configHash]: 'x' } } }],
  ])('does not change with %s', (_name, manifest) => {
    expect(hashOf(manifest)).toBe(hashOf(pod));
  });

  test.each<[string, unknown, object]>([
    ['the spec', { ...pod, spec: { ...pod.spec, hostNetwork: true } }, {}],
    ['the name', { ...pod, metadata: { name: 'web2' } }, {}],
    ['the namespace', { ...pod, metadata: { name: 'web', namespace: 'x' } }, {}],
    ['a label', { ...pod, metadata: { name: 'web', labels: { a: 'b' } } }, {}],
    ['an annotation', { ...pod, metadata: { name: 'web', annotations: { a: 'b' } } }, {}],
    ['the uid', { ...pod, metadata: { name: 'web', uid: 'u' } }, {}],
    ['the node', pod, { nodeName: 'n2' }],
    ['the file', pod, { origin: { ...context.origin, location: '/m/other.yaml' } }],
    ['the source', pod, { origin: { ...context.origin, source: 'url' } }],
  ])('changes with %s', (_name, manifest, change) => {
    expect(hashOf(manifest, change)).not.toBe(hashOf(pod));
  });
});

describe('withStaticIdentity', () => {
  test('adds name, namespace, uid, node, annotations, toleration', () => {
    const hash = hashOf(pod);
    expect(identify(pod)).toEqual({
      metadata: {
        name: 'web-n1',
        namespace: 'default',
        uid: hash,
        annotations: {
          [words.configSource]: 'file',
          [words.configHash]: hash,
          [words.configSeen]: '2023-11-14T22:13:20.000Z',
        },
      },
      spec: { ...pod.spec, nodeName: 'n1', tolerations: [{ operator: 'Exists', effect: 'NoExecute' }] },
      status: { phase: 'Pending' },
    });
  });

  test('uses the other vocabulary', () => {
    const vocabulary = VOCABULARIES.kubernetes;
    const { metadata } = withStaticIdentity(pod, { ...context, vocabulary, seenMs, hash: 'h' });
    expect(Object.keys(metadata?.annotations ?? {})).toEqual([
      vocabulary.configSource,
      vocabulary.configHash,
      vocabulary.configSeen,
    ]);
  });

  test.each<[SourceName, string, string]>([
    ['file', 'web-n1', 'file'],
    ['url', 'web-n1', 'http'],
    ['socket', 'web', 'socket'],
  ])('from %s the name is %s and the source %s', (source, name, word) => {
    const { metadata } = identify(pod, source);
    expect(metadata?.name).toBe(name);
    expect(metadata?.annotations?.[words.configSource]).toBe(word);
  });

  test('lowercases the node only in the name', () => {
    const named = identify(pod, 'file', 'Node-A');
    expect(named.metadata?.name).toBe('web-node-a');
    expect(named.spec?.nodeName).toBe('Node-A');
  });

  test('keeps a uid of the manifest, while the hash still follows the content', () => {
    const fixed: Pod = { ...pod, metadata: { name: 'web', uid: 'mine' } };
    const changed: Pod = { ...fixed, spec: { containers: [{ name: 'main', image: 'other' }] } };
    expect(identify(fixed).metadata?.uid).toBe('mine');
    expect(identify(changed).metadata?.uid).toBe('mine');
    const hash = ({ metadata }: Pod): string | undefined => metadata?.annotations?.[words.configHash];
    expect(hash(identify(changed))).not.toBe(hash(identify(fixed)));
  });

  test('drops reserved fields of a manifest and fields of another node', () => {
    const named = identify({
      ...pod,
      metadata: {
        name: 'web',
        selfLink: '/x',
        deletionTimestamp: '2020-01-01T00:00:00Z',
        annotations: { [words.configMirror]: 'fake', keep: 'me' },
      },
      spec: { containers: [], nodeName: 'elsewhere', tolerations: [{ key: 'a', operator: 'Exists' }] },
      status: { phase: 'Running' },
    });
    expect(named.metadata).not.toHaveProperty('selfLink');
    expect(named.metadata).not.toHaveProperty('deletionTimestamp');
    expect(named.metadata?.annotations).toMatchObject({ keep: 'me' });
    expect(named.metadata?.annotations).not.toHaveProperty([words.configMirror]);
    expect(named.spec?.nodeName).toBe('n1');
    expect(named.spec?.tolerations).toHaveLength(2);
    expect(named.status).toEqual({ phase: 'Pending' });
  });
});

describe('validateStaticIdentity', () => {
  test.each([
    [undefined, 0],
    ['', 0],
    ['8f5a2b6e-3a0f-4c58-a9a4-3a3f6a1d2b11', 0],
    ['mine', 0],
    ['..', 1],
    ['../../etc', 1],
    ['a/b', 1],
    ['a_b', 1],
    ['-a', 1],
    ['a\n', 1],
    ['x'.repeat(64), 1],
  ])('uid %j has %d errors', (uid, count) => {
    const metadata = uid === undefined ? { name: 'web' } : { name: 'web', uid };
    expect(validateStaticIdentity({ ...pod, metadata })).toHaveLength(count);
  });
});

/** Returns the same value with reversed keys in every object. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

describe('canonicalJson', () => {
  test('does not depend on the order of keys', () => {
    assert(
      property(jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test('is JSON of the same value', () => {
    assert(
      property(jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('omits undefined members and keeps the order of lists', () => {
    expect(canonicalJson({ b: undefined, a: [2, 1, undefined] })).toBe('{"a":[2,1,null]}');
  });
});

describe('contentHash', () => {
  test('distinguishes parts by their boundaries', () => {
    expect(contentHash('ab', 'c')).not.toBe(contentHash('a', 'bc'));
    expect(contentHash('a')).toMatch(/^[0-9a-f]{32}$/u);
  });
});
