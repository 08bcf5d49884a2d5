import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { decideMirror, mirrorHash, mirrorOf } from './mirror-pods.ts';

const words = VOCABULARIES.plat;
const node = { metadata: { name: 'n1', uid: 'node-1' } };
const pod = (hash: string): Pod => ({
  metadata: { name: 'web-n1', namespace: 'default', uid: 'own', annotations: { [words.configHash]: hash } },
  spec: { containers: [{ name: 'a' }] },
  status: { phase: 'Running' },
});
const mirror = (hash: string, more: object = {}) => ({
  metadata: { name: 'web-n1', annotations: { [words.configMirror]: hash }, ...more },
});

describe('decideMirror', () => {
  test.each([
    ['makes one that is missing', pod('a'), undefined, true, 'create'],
    ['leaves the right one alone', pod('a'), mirror('a'), true, 'none'],
    ['takes one away that is out of date', pod('b'), mirror('a'), true, 'delete'],
    [
      'takes one away that is about to go, to make it anew',
      pod('a'),
      mirror('a', { deletionTimestamp: 'now' }),
      true,
      'delete',
    ],
    ['takes one away whose manifest is gone', undefined, mirror('a'), true, 'delete'],
    ['leaves one alone whose source was not read yet', undefined, mirror('a'), false, 'none'],
    ['does nothing about nothing', undefined, undefined, true, 'none'],
  ] as const)('%s', (_, wanted, there, isComplete, kind) => {
    expect(decideMirror(wanted, there, isComplete, words).kind).toBe(kind);
  });
});

describe('mirrorOf', () => {
  test('shows the pod, is owned by the node, and has the mirror annotation', () => {
    const made = mirrorOf(pod('a'), node, words);
    expect(mirrorHash(made, words)).toBe('a');
    expect(made).toMatchObject({
      metadata: { name: 'web-n1', ownerReferences: [{ kind: 'Node', uid: 'node-1', controller: true }] },
      spec: { nodeName: 'n1' },
    });
    expect(made).not.toHaveProperty('status');
    expect(made).not.toHaveProperty('metadata.uid');
  });
});
