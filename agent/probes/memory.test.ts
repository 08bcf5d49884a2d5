import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createProbeMemory } from './memory.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'na-memory-'));
  await mkdir(join(dir, 'u1'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const memory = () => createProbeMemory({ log: silentLogger }, dir);
const READY = { started: true, ready: true };

async function remembered(id: string): Promise<unknown> {
  const later = memory();
  await later.load();
  return later.previous(id);
}

/** @param before called before each check */
const untilRemembered = (id: string, before: () => void = () => undefined): Promise<void> =>
  vi.waitFor(
    async () => {
      before();
      expect(await remembered(id)).toEqual(READY);
    },
    { timeout: 10_000 },
  );

test('returns the last results of an earlier run', async () => {
  const first = memory();
  first.note('u1', { c1: { started: true, ready: false } });
  first.note('u1', { c1: READY });
  await untilRemembered('c1');
  expect(await remembered('c2')).toBeUndefined();
});

test('does not return results of the same run', async () => {
  const first = memory();
  first.note('u1', { c1: READY });
  await untilRemembered('c1');
  expect(first.previous('c1')).toBeUndefined();
});

test('creates no empty file and no directory of a removed pod', async () => {
  const first = memory();
  first.note('u1', {});
  first.note('gone', { c1: READY });
  first.note('u1', { c2: READY });
  await untilRemembered('c2');
  expect(await remembered('c1')).toBeUndefined();
});

test('writes again after a full disk or a missing directory', async () => {
  const first = memory();
  first.note('u2', { c1: READY });
  await mkdir(join(dir, 'u2'));
  await untilRemembered('c1', () => first.note('u2', { c1: READY }));
  expect(await remembered('c1')).toEqual(READY);
});

test.each(['', '{', 'null', '{"version":2,"containers":{"c1":{}}}', '{"version":1}'])(
  'ignores %j',
  async (text) => {
    await writeFile(join(dir, 'u1', 'probes.json'), text);
    expect(await remembered('c1')).toBeUndefined();
    expect(await readFile(join(dir, 'u1', 'probes.json'), 'utf8')).toBe(text);
  },
);
