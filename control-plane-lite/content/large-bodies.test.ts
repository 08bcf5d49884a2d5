/** Room for large bodies: few are worked on at once, the others wait in order of arrival. */
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { MAX_LARGE_BODIES } from '../kit/yield.ts';
import { now, requestOf } from './content.fixture.ts';
import { createContent } from './content.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Work on large bodies that ends on demand, and the order in which it started. */
function createRoom() {
  const content = createContent({ vocabulary: VOCABULARIES.plat, now });
  const started: number[] = [];
  const ends: PromiseWithResolvers<number>[] = [];
  const begin = (signal = new AbortController().signal): Promise<number> => {
    const index = ends.length;
    const end = Promise.withResolvers<number>();
    ends.push(end);
    return content.whenRoom({ ...requestOf({}), signal }, () => {
      started.push(index);
      return end.promise;
    });
  };
  return {
    started,
    begin,
    end: (index: number) => ends[index]?.resolve(index),
    fail: (index: number, error: Error) => ends[index]?.reject(error),
  };
}

type Room = ReturnType<typeof createRoom>;
const fill = (room: Room): readonly Promise<number>[] =>
  Array.from({ length: MAX_LARGE_BODIES }, () => room.begin());
const ALL = Array.from({ length: MAX_LARGE_BODIES }, (_, index) => index);

describe('room for large bodies', () => {
  test('is for eight at once; the ninth waits until one of them ends', async () => {
    const room = createRoom();
    const first = fill(room);
    const ninth = room.begin();
    await settle();
    expect(MAX_LARGE_BODIES).toBe(8);
    expect(room.started).toEqual(ALL);
    room.end(3);
    expect(await first[3]).toBe(3);
    await settle();
    expect(room.started).toEqual([...ALL, 8]);
    room.end(8);
    expect(await ninth).toBe(8);
  });

  test('goes to the one that has waited longest', async () => {
    const room = createRoom();
    void fill(room);
    for (let count = 0; count < 4; count += 1) void room.begin();
    for (const index of [5, 0, 8, 2]) {
      room.end(index);
      await settle();
    }
    expect(room.started).toEqual([...ALL, 8, 9, 10, 11]);
  });

  test('is not given to a client that has left, wherever it stood in the queue', async () => {
    const room = createRoom();
    void fill(room);
    const gone = new Error('gone');
    const clients = ALL.slice(0, 3).map(() => new AbortController());
    const waiting = clients.map(({ signal }) => room.begin(signal));
    void room.begin();
    clients[1]?.abort(gone);
    await expect(waiting[1]).rejects.toBe(gone);
    clients[0]?.abort(gone);
    await expect(waiting[0]).rejects.toBe(gone);
    for (const index of [0, 1]) room.end(index);
    await settle();
    expect(room.started).toEqual([...ALL, 10, 11]);
    await expect(room.begin(AbortSignal.abort(gone))).rejects.toBe(gone);
  });

  test('is free again after work that fails, and only once after a client that leaves while it has a place', async () => {
    const room = createRoom();
    const first = fill(room);
    const client = new AbortController();
    const ninth = room.begin(client.signal);
    const [tenth, eleventh] = [room.begin(), room.begin()];
    const failure = new Error('failed');
    room.fail(0, failure);
    await expect(first[0]).rejects.toBe(failure);
    await settle();
    expect(room.started).toEqual([...ALL, 8]);
    client.abort(failure);
    await settle();
    expect(room.started).toEqual([...ALL, 8]);
    room.fail(8, failure);
    await expect(ninth).rejects.toBe(failure);
    await settle();
    expect(room.started).toEqual([...ALL, 8, 9]);
    for (const index of [1, 9, 10]) room.end(index);
    expect(await Promise.all([tenth, eleventh])).toEqual([9, 10]);
  });
});
