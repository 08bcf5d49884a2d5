import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { createTempDir, type TempDir } from '../../../testing/temp.ts';
import { acquireLockFile } from './lock-file.ts';

let dir: TempDir;
beforeEach(async () => {
  dir = await createTempDir();
});
afterEach(() => dir[Symbol.asyncDispose]());

const path = (): string => join(dir.path, 'agent.lock');
const never = new AbortController().signal;
const acquire = (
  options: { readonly exits?: boolean; readonly log?: Logger; readonly contended?: () => void } = {},
): Promise<AsyncDisposable> =>
  acquireLockFile(
    { lockFile: path(), exitOnLockContention: options.exits ?? false },
    options.log ?? silentLogger,
    never,
    options.contended ?? (() => undefined),
  );

test('an agent waits until the lock file is released', async () => {
  const first = await acquire();
  const waiting = Promise.withResolvers<void>();
  const log = { ...silentLogger, info: () => waiting.resolve() };
  let acquired = false;
  const second = acquire({ log }).then((lock) => {
    acquired = true;
    return lock;
  });
  await waiting.promise;
  expect(acquired).toBe(false);
  await first[Symbol.asyncDispose]();
  await (await second)[Symbol.asyncDispose]();
});

test('a stop signal ends the wait for the lock file', async () => {
  const first = await acquire();
  const stop = new AbortController();
  const log = { ...silentLogger, info: () => stop.abort(new Error('stopped')) };
  const options = { lockFile: path(), exitOnLockContention: false };
  await expect(acquireLockFile(options, log, stop.signal, () => undefined)).rejects.toThrow('stopped');
  await first[Symbol.asyncDispose]();
});

test('a request for the lock file is reported to the holder', async () => {
  const contended = Promise.withResolvers<void>();
  const first = await acquire({ exits: true, contended: contended.resolve });
  const other = await open(path(), 'r');
  await expect(contended.promise).resolves.toBeUndefined();
  await other.close();
  await first[Symbol.asyncDispose]();
});

test('a lock file in a missing directory is an error that names the flag', async () => {
  const options = { lockFile: join(dir.path, 'none', 'lock'), exitOnLockContention: false };
  await expect(acquireLockFile(options, silentLogger, never, () => undefined)).rejects.toThrow(
    '--lock-file: ',
  );
});

test('no lock file is no lock', async () => {
  const options = { lockFile: '', exitOnLockContention: false };
  const lock = await acquireLockFile(options, silentLogger, never, () => undefined);
  await expect(lock[Symbol.asyncDispose]()).resolves.toBeUndefined();
});
