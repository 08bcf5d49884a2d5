import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { manifestTargets, namedTargets } from './delete-targets.ts';

describe('namedTargets', () => {
  test('accepts several names of one type', () => {
    expect(namedTargets(['pods', 'a', 'b'], 'shop')).toEqual([
      { kind: 'Pod', namespace: 'shop', name: 'a' },
      { kind: 'Pod', namespace: 'shop', name: 'b' },
    ]);
  });

  test('accepts a type before each name', () => {
    expect(namedTargets(['pod/a', 'cm/b'])).toEqual([
      { kind: 'Pod', namespace: 'default', name: 'a' },
      { kind: 'ConfigMap', namespace: 'default', name: 'b' },
    ]);
  });

  test.each([[[]], [['pod']], [['nodes', 'a']], [['pod/']], [['pod/a/b']], [['pod/a', 'b']]])(
    'refuses %j',
    (words) => {
      expect(() => namedTargets(words)).toThrow(UsageError);
    },
  );
});

describe('manifestTargets', () => {
  test('returns valid and invalid objects, and documents without a name', async () => {
    const text = [
      '{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {bad: field}}',
      '{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}',
      '{apiVersion: v1, kind: Node, metadata: {name: c}}',
      '{apiVersion: v1, kind: Pod}',
    ].join('\n---\n');
    const found = await manifestTargets({ name: 'x.yaml', text }, new AbortController().signal);
    expect(found.targets).toEqual([
      { kind: 'Pod', namespace: 'shop', name: 'a' },
      { kind: 'ConfigMap', namespace: 'default', name: 'b' },
    ]);
    expect(found.nameless).toEqual(['x.yaml, document 3', 'x.yaml, document 4']);
  });
});
