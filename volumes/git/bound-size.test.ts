import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { type BoundSize, withinSize } from './bound-size.ts';

const { signal } = new AbortController();

/** Work that ends when it is told to, in a folder of which the file system and `du` say these sizes. */
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
  // It looks once before it waits.
  await clock.advance(0);
  return { clock, sizes, measured, end, work: { result } };
}

describe('work that fills a folder', () => {
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

  test('ends as soon as it takes too much', async () => {
    const { clock, sizes, measured, work } = await begin(100);
    await clock.advance(1000);
    Object.assign(sizes, { inUse: 1101, folder: 101 });
    await clock.advance(1000);
    expect(await work.result).toContain('it takes more than the 100 bytes that it may');
    expect(measured).toEqual([101]);
  });

  test('goes on when it is others who write, and is measured anew when what is left of it may be gone', async () => {
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

  test('ends late but surely where others make room at the same time', async () => {
    const { clock, sizes, work } = await begin(100);
    await clock.advance(1000);
    Object.assign(sizes, { inUse: 10, folder: 500 });
    for (let second = 0; second < 20; second++) await clock.advance(1000);
    expect(await work.result).toContain('it takes more');
  });

  test('is refused at its end where nobody saw it grow', async () => {
    const { sizes, end, work } = await begin(100);
    sizes.folder = 101;
    end.resolve('done');
    expect(await work.result).toContain('it takes more');
  });
});
