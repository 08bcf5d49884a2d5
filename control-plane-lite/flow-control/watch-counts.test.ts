import { expect, test } from 'vitest';
import { createWatchCounts, isOfOneNode } from './watch-counts.ts';

const pods = (namespace: string, name = '') => ({ group: '', resource: 'pods', namespace, name });

test('a write affects the watches of its resource, its namespace and its name', () => {
  const counts = createWatchCounts();
  const open = [pods(''), pods(''), pods('n'), pods('m'), pods('n', 'a'), pods('n', 'b')];
  for (const scope of [...open, { ...pods(''), resource: 'nodes' }, { ...pods(''), group: 'x' }]) {
    counts.opened(scope);
  }
  expect([pods('n', 'a'), pods('n'), pods('m', 'a'), pods('x')].map((scope) => counts.count(scope))).toEqual([
    4, 3, 3, 2,
  ]);
  for (const scope of open) counts.closed(scope);
  expect(counts.count(pods('n', 'a'))).toBe(0);
  expect(counts.count({ ...pods(''), resource: 'nodes' })).toBe(1);
});

test('a cluster-scoped object is watched by name', () => {
  const counts = createWatchCounts();
  const node = (name: string) => ({ group: '', resource: 'nodes', namespace: '', name });
  counts.opened(node('a'));
  expect([counts.count(node('a')), counts.count(node('b'))]).toEqual([1, 0]);
});

test.each([
  ['fieldSelector=spec.nodeName%3Da', true],
  ['fieldSelector=metadata.name%3Dx%2Cspec.nodeName%3D%3Da', true],
  ['fieldSelector=spec.nodeName%3D', false],
  ['fieldSelector=spec.nodeName%21%3Da', false],
  ['fieldSelector=spec.nodeName', false],
  ['labelSelector=a', false],
  ['', false],
])('%s is of the pods of one node: %s', (query, expected) => {
  expect(isOfOneNode(pods(''), new URLSearchParams(query))).toBe(expected);
  expect(isOfOneNode({ ...pods(''), resource: 'events' }, new URLSearchParams(query))).toBe(false);
});
