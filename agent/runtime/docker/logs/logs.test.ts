import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLogger as log } from '#api/kit/logger.ts';
import { createTempDir } from '../../../../testing/temp.ts';
import { followLog } from './follower.ts';
import { convertLine } from './json-line.ts';
import { createUnwritten, positionAfter } from './resume.ts';

const T = '2026-01-02T03:04:05';
const entry = (number: number, text: string): string =>
  `${JSON.stringify({ log: text, stream: 'stdout', time: `${T}.${String(number).padStart(9, '0')}Z` })}\n`;
const written = (number: number, text: string): string =>
  `${T}.${String(number).padStart(9, '0')}Z stdout F ${text}\n`;

describe('convertLine', () => {
  test.each([
    [`{"log":"a b\\n","stream":"stderr","time":"${T}Z"}`, `${T}Z stderr F a b\n`],
    [`{"log":"part","stream":"stdout","time":"${T}Z"}`, `${T}Z stdout P part\n`],
    ['{"log":"a\\n","stream":"stdin","time":"x"}', undefined],
    ['{"log":"a', undefined],
    ['[]', undefined],
  ])('%s', (line, text) => {
    expect(convertLine(line)?.text).toBe(text);
  });
});

describe('positions', () => {
  test('lines up to the last written one are skipped, even if several have its time', () => {
    const position = positionAfter(`${T}.1Z stdout F a\n${T}.2Z stdout P b\n${T}.2Z stdout P c\n`);
    expect(position.count).toBe(2);
    const isUnwritten = createUnwritten(position);
    expect([`${T}.1Z`, `${T}.2Z`, `${T}.2Z`, `${T}.2Z`, `${T}.15Z`].map(isUnwritten)).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
  });

  test('an empty log has none', () => {
    expect(createUnwritten(positionAfter(''))(`${T}Z`)).toBe(true);
  });
});

describe('followLog', () => {
  test('continues after an unfinished line, across rotations of both sides', async () => {
    await using dir = await createTempDir();
    const folder = join(dir.path, 'docker');
    await mkdir(folder);
    const source = join(folder, 'i-json.log');
    const target = join(dir.path, 'logs', 'c.log');
    await mkdir(join(dir.path, 'logs'));
    await writeFile(source, entry(1, 'one\n') + entry(2, 'two\n'));
    await writeFile(target, `${written(1, 'one')}${T}.0000`);
    const follower = await followLog({ log, source, target });
    const content = (): Promise<string> => readFile(target, 'utf8');
    await expect.poll(content).toBe(written(1, 'one') + written(2, 'two'));
    await appendFile(source, entry(3, 'three\n'));
    await rename(source, `${source}.1`);
    await writeFile(source, entry(4, 'four\n'));
    await expect.poll(content).toContain(written(4, 'four'));
    await rename(target, `${target}.20260102-030405`);
    await follower.reopen();
    await appendFile(source, entry(5, 'five\n'));
    await follower.complete();
    expect(await readFile(`${target}.20260102-030405`, 'utf8')).toBe(
      [written(1, 'one'), written(2, 'two'), written(3, 'three'), written(4, 'four')].join(''),
    );
    expect(await content()).toBe(written(5, 'five'));
    await follower.close();
    // A new follower finds the position in the log; after a rotation in the rotated file.
    await rename(target, `${target}.20260102-030406`);
    await appendFile(source, entry(6, 'six\n'));
    await (await followLog({ log, source, target })).complete();
    expect(await content()).toBe(written(6, 'six'));
  });
});
