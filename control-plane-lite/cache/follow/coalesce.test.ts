import { describe, expect, test } from 'vitest';
import { coalesce } from './coalesce.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Query {
  readonly resolve: (revision: number) => void;
  readonly reject: (error: Error) => void;
}

function setUp(): { readonly readNewest: () => Promise<number>; readonly put: Query[] } {
  const put: Query[] = [];
  const query = (): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    put.push({ resolve, reject });
    return promise;
  };
  return { readNewest: coalesce(query, setImmediate), put };
}

describe('coalesce', () => {
  test('sends one query for all calls of a turn', async () => {
    const { readNewest, put } = setUp();
    const results = [readNewest(), readNewest(), readNewest()];
    await turn();
    await turn();
    expect(put).toHaveLength(1);
    put[0]?.resolve(7);
    expect(await Promise.all(results)).toEqual([7, 7, 7]);
  });

  test('never returns the result of an earlier query, and sends one query at a time', async () => {
    const { readNewest, put } = setUp();
    const first = readNewest();
    await turn();
    await turn();
    const later = [readNewest(), readNewest()];
    await turn();
    await turn();
    expect(put).toHaveLength(1);
    put[0]?.resolve(7);
    expect(await first).toBe(7);
    await turn();
    await turn();
    expect(put).toHaveLength(2);
    put[1]?.resolve(9);
    expect(await Promise.all(later)).toEqual([9, 9]);
  });

  test('a failed query fails its own callers only', async () => {
    const { readNewest, put } = setUp();
    const first = readNewest();
    await turn();
    await turn();
    const later = readNewest();
    put[0]?.reject(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await turn();
    await turn();
    put[1]?.resolve(9);
    expect(await later).toBe(9);
  });
});
