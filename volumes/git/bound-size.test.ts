import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { type BoundSize, withinSize } from './bound-size.ts';

const { signal } = new AbortController();

/** Starts work that ends on abort, in a directory for which the file system and `du` report these sizes. */
async function begin(totalBytes: number) {
  const clock = createFakeClock();
  const sizes = { inUse: 1000, folder: 0 };
  const measured: number[] = [];
  const end = Promise.withResolvers<string>();
  const bound: BoundSize = {
    clock,
    dir: '/v',
    totalBytes,
    inUse: async () => sizes.inUse,
    run: async () => {
      measured.push(sizes.folder);
      return { code: 0, stdout: `${sizes.folder}\t/v\n`, stderr: '' };
    },
  };
  const work = (inner: AbortSignal): Promise<string> => {
    inner.addEventListener('abort', () => end.reject(inner.reason));
    return end.promise;
  };
  const result = withinSize(bound, work, signal).catch((thrown: unknown) => String(thrown));
  // It checks once before it waits.
  await clock.advance(0);
  return { clock, sizes, measured, end, work: { result } };
}

describe('work that fills a directory', () => {
  test('is measured at its end, and seldom before while little is written', async () => {
    const { clock, sizes, measured, end, work } = await begin(100);
    for (let second = 0; second < 19; second++) await clock.advance(1000);
    expect(measured).toEqual([]);
    sizes.folder = 40;
    await clock.advance(1000);
    expect(measured).toEqual([40]);
    end.resolve('done');
    expect(await work.result).toBe('done');
    expect(measured).toEqual([40, 40]);
  });

  test('is aborted as soon as it exceeds the limit', async () => {
    const { clock, sizes, measured, work } = await begin(100);
    await clock.advance(1000);
    Object.assign(sizes, { inUse: 1101, folder: 101 });
    await clock.advance(1000);
    expect(await work.result).toContain('it exceeds the limit of 100 bytes');
    expect(measured).toEqual([101]);
  });

  test('continues when others write, and is measured again when its remainder may be used up', async () => {
    const { clock, sizes, measured, end, work } = await begin(100);
    Object.assign(sizes, { inUse: 5000, folder: 60 });
    await clock.advance(1000);
    expect(measured).toEqual([60]);
    sizes.inUse = 5040;
    await clock.advance(1000);
    expect(measured).toEqual([60]);
    Object.assign(sizes, { inUse: 5041, folder: 100 });
    await clock.advance(1000);
    expect(measured).toEqual([60, 100]);
    end.resolve('done');
    expect(await work.result).toBe('done');
  });

  test('is aborted eventually even if others free space at the same time', async () => {
    const { clock, sizes, work } = await begin(100);
    await clock.advance(1000);
    Object.assign(sizes, { inUse: 10, folder: 500 });
    for (let second = 0; second < 20; second++) await clock.advance(1000);
    expect(await work.result).toContain('it exceeds the limit');
  });

  test('is rejected at its end if its growth went unnoticed', async () => {
    const { sizes, end, work } = await begin(100);
    sizes.folder = 101;
    end.resolve('done');
    expect(await work.result).toContain('it exceeds the limit');
  });
});
