/** Executes a rotation on the files of one log directory. Containers cannot write there, but pods with a host
 *  path can: never follows links or overwrites existing files. */
import { constants } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { openRegularFile } from './open-log.ts';
import { type CompressStep, planCompression, planRotation, type RotationPolicy } from './rotation.ts';

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

async function compress(dir: string, step: CompressStep, root: string, signal: AbortSignal): Promise<void> {
  const temporary = join(dir, step.temporary);
  await rm(temporary, { force: true });
  const source = await openRegularFile(join(dir, step.from), root);
  try {
    const target = await open(temporary, NEW_FILE, 0o640);
    // Both streams close their files, even when the pipeline fails.
    await pipeline(source.file.createReadStream(), createGzip(), target.createWriteStream({ flush: true }), {
      signal,
    });
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  } finally {
    await source.file.close();
  }
  await rename(temporary, join(dir, step.to));
  await rm(join(dir, step.from), { force: true });
}

export interface RotateRequest {
  readonly logPath: string;
  /** Directory that must contain the real log. */
  readonly root: string;
  readonly policy: RotationPolicy;
  readonly nowMs: number;
  /** Makes the runtime reopen the log under its name. */
  readonly reopen: (signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Cleans up after earlier rotations, then renames the current file and makes the runtime create a new one.
 *  If the runtime fails, the file is renamed back and the error rethrown. */
export async function rotateFiles(request: RotateRequest): Promise<void> {
  const { logPath, root, policy, nowMs, reopen, signal } = request;
  const dir = dirname(logPath);
  const plan = planRotation({ current: basename(logPath), names: await readdir(dir) }, policy, nowMs);
  for (const name of plan.remove) await rm(join(dir, name), { force: true });
  for (const step of plan.compress) await compress(dir, step, root, signal);
  const rotated = join(dir, plan.rename.to);
  await rename(logPath, rotated);
  try {
    await reopen(signal);
  } catch (thrown) {
    await rename(rotated, logPath);
    throw thrown;
  }
}

/** Compresses all rotated files of one log. No process writes to them: the runtime has reopened its log.
 *  Readers with an open file can read it to its end. */
export async function compressRotated(logPath: string, root: string, signal: AbortSignal): Promise<void> {
  const dir = dirname(logPath);
  const steps = planCompression({ current: basename(logPath), names: await readdir(dir) });
  for (const step of steps) await compress(dir, step, root, signal);
}
