/** Ends work that fills a folder with more than it may hold. Limits of single files don't say how many there are, and
 *  not every file system counts for a folder. What its whole file system has is known at no cost, and looked at often: the
 *  folder is measured, by a program, when that has grown as if all of it went there; now and then, as others may have
 *  freed room meanwhile; and once more at the end. */
import { statfs } from 'node:fs/promises';
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';

export interface BoundSize {
  readonly clock: Clock;
  readonly run: RunProgram;
  readonly dir: string;
  readonly totalBytes: number;
  /** Bytes that the folder's whole file system has in use; from the kernel unless given. */
  readonly inUse?: (dir: string) => Promise<number>;
}

/** Between two looks at the file system. */
const PERIOD_MS = 1000;
/** Longest time between two measurements. */
const MEASURED_MS = 20_000;
const MEASURE_MS = 60_000;

async function measure({ run, dir }: BoundSize, signal: AbortSignal): Promise<number> {
  const args = ['--summarize', '--one-file-system', '--block-size=1', '--', dir];
  const result = await run('du', args, { signal, timeoutMs: MEASURE_MS });
  // Files come and go meanwhile: a sum is there all the same.
  const bytes = /^(\d+)\t/m.exec(result.stdout)?.[1];
  if (bytes === undefined) throw new VolumeSetupError(failText('du', result));
  return Number(bytes);
}

/** @returns how much it may still take */
async function check(bound: BoundSize, signal: AbortSignal): Promise<number> {
  const left = bound.totalBytes - (await measure(bound, signal));
  if (left < 0) throw new VolumeSetupError(`it takes more than the ${bound.totalBytes} bytes that it may`);
  return left;
}

async function bytesInUse(dir: string): Promise<number> {
  const { blocks, bfree, bsize } = await statfs(dir);
  return (blocks - bfree) * bsize;
}

/** Until the signal fires. @throws VolumeSetupError when it takes too much; the signal's reason */
async function watch(bound: BoundSize, signal: AbortSignal): Promise<void> {
  const { clock, dir, totalBytes, inUse = bytesInUse } = bound;
  let measured = { usedBytes: await inUse(dir), left: totalBytes, atMs: clock.monotonic() };
  while (!signal.aborted) {
    await sleep(clock, PERIOD_MS, signal);
    const usedBytes = await inUse(dir);
    const atMs = clock.monotonic();
    if (usedBytes - measured.usedBytes <= measured.left && atMs - measured.atMs < MEASURED_MS) continue;
    measured = { usedBytes, left: await check(bound, signal), atMs };
  }
}

/** @throws VolumeSetupError when it takes too much, after `work` was told so; what `work` throws */
export async function withinSize<T>(
  bound: BoundSize,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const tooLarge = new AbortController();
  const ended = new AbortController();
  const watching = AbortSignal.any([signal, ended.signal]);
  const watched = watch(bound, watching).catch((thrown: unknown) => {
    if (!watching.aborted) tooLarge.abort(asError(thrown));
  });
  try {
    const result = await work(AbortSignal.any([signal, tooLarge.signal]));
    await check(bound, signal);
    return result;
  } finally {
    ended.abort(new Error('it has ended'));
    await watched;
  }
}
