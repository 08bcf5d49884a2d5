import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createPutQueue, type PutQueueLimits, type QueueEntry, takeGroup } from './put-queue.ts';

const entry = (key: string, bytes = 1): QueueEntry => ({ key, bytes });
const keysOf = (entries: readonly QueueEntry[]): string => entries.map(({ key }) => key).join('');

describe('takeGroup', () => {
  const LIMITS = { entries: 4, enough: 4, bytes: 10 };

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

  test('sends a too large value alone, and nothing smaller before it', () => {
    const waiting = [entry('a', 4), entry('b', 99), entry('c', 1)];
    const first = takeGroup(waiting, LIMITS);
    expect([keysOf(first.group), keysOf(first.rest)]).toEqual(['a', 'bc']);
    const second = takeGroup(first.rest, LIMITS);
    expect([keysOf(second.group), keysOf(second.rest)]).toEqual(['b', 'c']);
  });
});

describe('createPutQueue', () => {
  interface Fixture {
    readonly sent: readonly string[];
    readonly add: (keys: string) => void;
    /** Completes the oldest group in flight. */
    readonly end: () => Promise<void>;
  }

  function createFixture(limits: PutQueueLimits): Fixture {
    const sent: string[] = [];
    const done: (() => void)[] = [];
    const queue = createPutQueue(limits, (group) => {
      sent.push(keysOf(group));
      return new Promise((resolve) => {
        done.push(resolve);
      });
    });
    return {
      sent,
      add(keys) {
        for (const key of keys) queue.add(entry(key));
      },
      async end() {
        done.shift()?.();
        await turns();
      },
    };
  }

  async function turns(): Promise<void> {
    await turn();
    await turn();
  }

  test('sends the puts of one turn together, and retains the rest until a group is done', async () => {
    const { sent, add, end } = createFixture({ entries: 3, enough: 100, bytes: 100 });
    add('abcdefgh');
    expect(sent).toEqual([]);
    await turns();
    expect(sent).toEqual(['abc']);
    add('i');
    await end();
    expect(sent).toEqual(['abc', 'def']);
    await end();
    expect(sent).toEqual(['abc', 'def', 'ghi']);
  });

  test('sends enough of them at once, and as many beside them, but no third group', async () => {
    const { sent, add, end } = createFixture({ entries: 10, enough: 3, bytes: 100 });
    add('abcd');
    expect(sent).toEqual(['abc']);
    await turns();
    expect(sent).toEqual(['abc']);
    add('efghij');
    expect(sent).toEqual(['abc', 'def']);
    await turns();
    expect(sent).toEqual(['abc', 'def']);
    await end();
    expect(sent).toEqual(['abc', 'def', 'ghij']);
    await end();
    await end();
    add('k');
    await turns();
    expect(sent).toEqual(['abc', 'def', 'ghij', 'k']);
  });

  test('sends nothing a second time when enough have come before the turn is over', async () => {
    const { sent, add, end } = createFixture({ entries: 10, enough: 3, bytes: 100 });
    add('abc');
    await turns();
    expect(sent).toEqual(['abc']);
    await end();
    expect(sent).toEqual(['abc']);
  });
});
