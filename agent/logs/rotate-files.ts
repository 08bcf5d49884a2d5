/** Carries out a rotation on the files of one log directory. Containers cannot write there, pods with a host path
 *  may: links are never followed and nothing that exists is overwritten. */
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
    // Both streams close their file, also when the pipeline fails.
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
  /** Directory that must really contain the log. */
  readonly root: string;
  readonly policy: RotationPolicy;
  readonly nowMs: number;
  /** Tells the runtime to write to a new file under the log's name. */
  readonly reopen: (signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Cleans up after earlier rotations, then moves the current file away and has the runtime make a new one.
 *  When the runtime does not, the file is moved back and the error passed on. */
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

/** Compresses all that was rotated of one log. Nobody writes to it: the runtime has been told to reopen.
 *  Whoever reads on in a file keeps it until its end. */
export async function compressRotated(logPath: string, root: string, signal: AbortSignal): Promise<void> {
  const dir = dirname(logPath);
  const steps = planCompression({ current: basename(logPath), names: await readdir(dir) });
  for (const step of steps) await compress(dir, step, root, signal);
}
