import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createPutQueue, type QueueEntry, takeGroup } from './put-queue.ts';

const entry = (key: string, bytes = 1): QueueEntry => ({ key, bytes });
const keysOf = (entries: readonly QueueEntry[]): string => entries.map(({ key }) => key).join('');

describe('takeGroup', () => {
  const LIMITS = { entries: 4, bytes: 10 };

  test.each([
    { what: 'all that fit', waiting: ['a', 'b', 'c'], group: 'abc', rest: '' },
    { what: 'no more than a group has', waiting: ['a', 'b', 'c', 'd', 'e', 'f'], group: 'abcd', rest: 'ef' },
    { what: 'a key once, in its order', waiting: ['a', 'a', 'b', 'a'], group: 'ab', rest: 'aa' },
    { what: 'nothing', waiting: [], group: '', rest: '' },
  ])('takes $what', ({ waiting, group, rest }) => {
    const taken = takeGroup(
      waiting.map((key) => entry(key)),
      LIMITS,
    );
    expect([keysOf(taken.group), keysOf(taken.rest)]).toEqual([group, rest]);
  });

  test('takes what is too large alone, and lets nothing smaller pass it', () => {
    const waiting = [entry('a', 4), entry('b', 99), entry('c', 1)];
    const first = takeGroup(waiting, LIMITS);
    expect([keysOf(first.group), keysOf(first.rest)]).toEqual(['a', 'bc']);
    const second = takeGroup(first.rest, LIMITS);
    expect([keysOf(second.group), keysOf(second.rest)]).toEqual(['b', 'c']);
  });
});

describe('createPutQueue', () => {
  test('sends at once what comes in one turn, and keeps the rest until a group is done', async () => {
    const sent: string[] = [];
    const done: (() => void)[] = [];
    const queue = createPutQueue({ entries: 3, bytes: 100 }, (group) => {
      sent.push(keysOf(group));
      return new Promise((resolve) => {
        done.push(resolve);
      });
    });
    for (const key of 'abcdefgh') queue.add(entry(key));
    expect(sent).toEqual([]);
    await turn();
    await turn();
    expect(sent).toEqual(['abc']);
    queue.add(entry('i'));
    done.shift()?.();
    await turn();
    await turn();
    expect(sent).toEqual(['abc', 'def']);
    done.shift()?.();
    await turn();
    await turn();
    expect(sent).toEqual(['abc', 'def', 'ghi']);
  });
});
