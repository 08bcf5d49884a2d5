import { expect, test } from 'vitest';
import { type CollectablePod, isAbandoned, type PodNode, tooManyFinished } from './decide.ts';

const NODES: Readonly<Record<string, PodNode>> = {
  here: { outOfService: false },
  off: { outOfService: true },
};

test.each([
  ['', false, false],
  ['', true, true],
  ['here', false, false],
  ['here', true, false],
  ['missing', false, true],
  ['off', false, false],
  ['off', true, true],
])('of node %j, being deleted %j: abandoned %j', (nodeName, deleting, abandoned) => {
  expect(isAbandoned({ nodeName, deleting }, (name) => NODES[name])).toBe(abandoned);
});

const pod = (key: string, createdMs: number, more: Partial<CollectablePod> = {}): CollectablePod => ({
  key,
  uid: key,
  nodeName: 'here',
  finished: true,
  deleting: false,
  createdMs,
  ...more,
});

test.each([
  [0, []],
  [1, ['c', 'a']],
  [2, ['c']],
  [3, []],
])('of three that ended %d may stay', (most, removed) => {
  const pods = [pod('a', 2), pod('b', 3), pod('c', 1), pod('d', 0, { finished: false })];
  const leaving = [...pods, pod('e', 0, { deleting: true })];
  expect(tooManyFinished(leaving, most).map(({ key }) => key)).toEqual(removed);
});
