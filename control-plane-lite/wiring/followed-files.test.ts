import { rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { followFiles } from './followed-files.ts';

let dir: TempDir;
beforeAll(async () => {
  dir = await createTempDir('na-followed-');
});
afterAll(() => dir[Symbol.asyncDispose]());

test('files are read again when they change, and unusable ones leave the last value', async () => {
  const [a, b] = [`${dir.path}/a`, `${dir.path}/b`];
  await writeFile(a, '1');
  await writeFile(b, '2');
  const clock = createFakeClock();
  const ended = new AbortController();
  const problems: unknown[] = [];
  const log = { info: () => undefined, warn: ({ err }: object & { err?: unknown }) => problems.push(err) };
  let parsed = 0;
  const value = await followFiles({ clock, log, signal: ended.signal }, [a, b], (texts) => {
    parsed += 1;
    const numbers = texts.map(Number);
    if (numbers.some(Number.isNaN)) throw new Error('no number');
    return numbers;
  });
  const later = async (expected: readonly number[]): Promise<void> => {
    await expect
      .poll(async () => {
        await clock.advance(5000);
        return value();
      })
      .toEqual(expected);
  };
  expect(value()).toEqual([1, 2]);
  const same = value();
  await later([1, 2]);
  expect(value()).toBe(same);
  expect(parsed).toBe(1);
  await writeFile(b, '3');
  await later([1, 3]);
  await writeFile(a, 'x');
  await expect.poll(async () => clock.advance(5000).then(() => problems.length)).toBeGreaterThan(0);
  expect(value()).toEqual([1, 3]);
  await rm(a);
  await writeFile(b, '4');
  const reported = problems.length;
  await expect.poll(async () => clock.advance(5000).then(() => problems.length)).toBeGreaterThan(reported);
  expect(value()).toEqual([1, 3]);
  await writeFile(a, '5');
  await later([5, 4]);
  ended.abort();
});

test('a file that cannot be read at the start is named', async () => {
  const deps = { clock: createFakeClock(), log: { info: () => undefined, warn: () => undefined } };
  const signal = AbortSignal.abort();
  await expect(followFiles({ ...deps, signal }, [`${dir.path}/none`], () => 1)).rejects.toThrow(
    `cannot read ${dir.path}/none`,
  );
});
