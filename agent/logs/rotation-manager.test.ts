import { access, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createLogRotator } from './rotation-manager.ts';

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp('/tmp/na-rot-');
  path = join(dir, '0.log');
});
afterEach(async () => await rm(dir, { recursive: true, force: true }));
const never = new AbortController().signal;

/** Simulates the runtime: creates a new file on reopening. */
function setup(
  more: {
    readonly maxFiles?: number;
    readonly fail?: boolean;
    readonly maxSizeBytes?: number;
    readonly isShort?: () => boolean;
  } = {},
) {
  const clock = createFakeClock(Date.parse('2026-11-21T10:00:00Z'));
  const reopened: string[] = [];
  const warnings: string[] = [];
  const rotator = createLogRotator(
    {
      clock,
      log: { ...silentLogger, warn: (_, message) => void warnings.push(message) },
      listRunning: () => [{ containerID: 'c1', logPath: path }],
      isShort: () => Promise.resolve(more.isShort?.() ?? false),
      async reopenContainerLog(containerID) {
        reopened.push(containerID);
        if (more.fail === true) throw new Error('runtime is away');
        await writeFile(path, 'new\n', { flag: 'a' });
      },
    },
    { podLogsDir: dir, maxSizeBytes: more.maxSizeBytes ?? 10, maxFiles: more.maxFiles ?? 3 },
  );
  return { clock, rotator, reopened, warnings };
}

describe('createLogRotator', () => {
  test('does not rotate small logs', async () => {
    await writeFile(path, 'small');
    const { rotator, reopened } = setup();
    await rotator.rotateOnce(never);
    expect(reopened).toEqual([]);
    expect(await readdir(dir)).toEqual(['0.log']);
  });

  test('rotates, compresses and removes over several rounds', async () => {
    const { rotator, clock } = setup();
    for (const text of ['first content', 'second content', 'third content', 'fourth content']) {
      await writeFile(path, text);
      await rotator.rotateOnce(never);
      await clock.advance(60_000);
    }
    expect((await readdir(dir)).sort()).toEqual([
      '0.log',
      '0.log.20261121-100200.gz',
      '0.log.20261121-100300',
    ]);
    expect(gunzipSync(await readFile(join(dir, '0.log.20261121-100200.gz'))).toString()).toBe(
      'third content',
    );
    expect(await readFile(join(dir, '0.log.20261121-100300'), 'utf8')).toBe('fourth content');
    expect(await readFile(path, 'utf8')).toBe('new\n');
  });

  test('rotates earlier and compresses at once while disk space is low', async () => {
    const half = 'x'.repeat(100_000);
    let isShort = false;
    const { rotator, clock } = setup({ maxSizeBytes: 200_000, isShort: () => isShort });
    await writeFile(path, half);
    await rotator.rotateOnce(never);
    expect(await readdir(dir)).toEqual(['0.log']);
    isShort = true;
    await rotator.rotateOnce(never);
    expect((await readdir(dir)).sort()).toEqual(['0.log', '0.log.20261121-100000.gz']);
    expect(gunzipSync(await readFile(join(dir, '0.log.20261121-100000.gz'))).toString()).toBe(half);
    // A log of a few lines is not rotated.
    await clock.advance(60_000);
    await rotator.rotateOnce(never);
    expect(await readdir(dir)).toHaveLength(2);
  });

  test('compresses files of earlier rotations when disk space becomes low', async () => {
    await writeFile(path, 'few lines');
    await writeFile(`${path}.20261121-095959`, 'rotated');
    const { rotator, reopened } = setup({ maxSizeBytes: 100, isShort: () => true });
    await rotator.rotateOnce(never);
    expect((await readdir(dir)).sort()).toEqual(['0.log', '0.log.20261121-095959.gz']);
    expect(reopened).toEqual([]);
  });

  test('finishes a rotation that was interrupted before the runtime reopened', async () => {
    await writeFile(`${path}.20261121-095959`, 'rotated');
    const { rotator, reopened } = setup();
    await rotator.rotateOnce(never);
    expect(reopened).toEqual(['c1']);
    expect(await readFile(path, 'utf8')).toBe('new\n');
  });

  test('restores the log when the runtime does not reopen it', async () => {
    await writeFile(path, 'a log that is too large');
    const { rotator, warnings } = setup({ fail: true });
    await rotator.rotateOnce(never);
    expect(await readdir(dir)).toEqual(['0.log']);
    expect(warnings).toEqual(['Failed to rotate container log']);
  });

  test('compresses nothing through a symlink', async () => {
    await writeFile(join(dir, 'secret'), 'secret');
    await symlink(join(dir, 'secret'), `${path}.20261121-095959`);
    await writeFile(path, 'a log that is too large');
    const { rotator, warnings } = setup();
    await rotator.rotateOnce(never);
    expect(warnings).toHaveLength(1);
    await expect(access(`${path}.20261121-095959.gz`)).rejects.toThrow('ENOENT');
  });

  test('does nothing for a negative size', async () => {
    await writeFile(path, 'a log that is too large');
    const { rotator, reopened } = setup({ maxSizeBytes: -1 });
    await rotator.rotateOnce(never);
    expect(reopened).toEqual([]);
  });

  test('checks every ten seconds until it is stopped', async () => {
    await writeFile(path, 'small');
    const { rotator, clock } = setup();
    const controller = new AbortController();
    const running = rotator.run(controller.signal);
    await clock.advance(0);
    await writeFile(path, 'now it is too large');
    // A round works on real files: the next timer is set only after the first round, whenever that ends.
    while ((await readdir(dir)).length < 2) await clock.advance(10_000);
    controller.abort();
    await running;
    expect((await readdir(dir)).length).toBe(2);
  });
});
