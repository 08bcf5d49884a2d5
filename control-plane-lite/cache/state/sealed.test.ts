import { expect, test } from 'vitest';
import { createSealed } from './sealed.ts';

test('counts the keys of each prefix', () => {
  const sealed = createSealed();
  for (const key of ['/r/pods/a', '/r/secrets/a', '/r/secrets/b']) sealed.add(key);
  expect(['/r/pods/', '/r/secrets/', '/r/nodes/'].map((prefix) => sealed.below(prefix))).toEqual([1, 2, 0]);
  expect([sealed.delete('/r/secrets/a'), sealed.delete('/r/secrets/a')]).toEqual([true, false]);
  expect(sealed.below('/r/secrets/')).toBe(1);
});

test('a key that is added again is tried last', () => {
  const sealed = createSealed();
  for (const key of ['a', 'b', 'a']) sealed.add(key);
  expect(sealed.keys()).toEqual(['b', 'a']);
});

test('who waits for some prefixes goes on once their keys are gone', async () => {
  const sealed = createSealed();
  const stop = new AbortController();
  const pods = new Set(['/r/pods/', '/r/nodes/']);
  expect(sealed.readable('every', stop.signal)).toBeUndefined();
  for (const key of ['/r/pods/a', '/r/secrets/a']) sealed.add(key);
  expect(sealed.readable(new Set(['/r/nodes/']), stop.signal)).toBeUndefined();
  const order: string[] = [];
  const both = [
    sealed.readable('every', stop.signal)?.then(() => order.push('every')),
    sealed.readable(pods, stop.signal)?.then(() => order.push('pods')),
  ];
  sealed.delete('/r/pods/a');
  await both[1];
  sealed.delete('/r/secrets/a');
  await both[0];
  expect(order).toEqual(['pods', 'every']);
});

test('a wait ends with its signal', async () => {
  const sealed = createSealed();
  sealed.add('/r/pods/a');
  const stop = new AbortController();
  const waiting = sealed.readable('every', stop.signal);
  stop.abort();
  await expect(waiting).resolves.toBeUndefined();
});
