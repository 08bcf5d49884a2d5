import { describe, expect, test } from 'vitest';
import { coalesce } from './coalesce.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Question {
  readonly resolve: (revision: number) => void;
  readonly reject: (error: Error) => void;
}

function setUp(): { readonly askNewest: () => Promise<number>; readonly put: Question[] } {
  const put: Question[] = [];
  const ask = (): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    put.push({ resolve, reject });
    return promise;
  };
  return { askNewest: coalesce(ask, setImmediate), put };
}

describe('coalesce', () => {
  test('sends one query for all calls of a turn', async () => {
    const { askNewest, put } = setUp();
    const results = [askNewest(), askNewest(), askNewest()];
    await turn();
    await turn();
    expect(put).toHaveLength(1);
    put[0]?.resolve(7);
    expect(await Promise.all(results)).toEqual([7, 7, 7]);
  });

  test('never returns the result of an earlier query, and sends one query at a time', async () => {
    const { askNewest, put } = setUp();
    const first = askNewest();
    await turn();
    await turn();
    const later = [askNewest(), askNewest()];
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
    const { askNewest, put } = setUp();
    const first = askNewest();
    await turn();
    await turn();
    const later = askNewest();
    put[0]?.reject(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await turn();
    await turn();
    put[1]?.resolve(9);
    expect(await later).toBe(9);
  });
});
