/** Size limit of a directory during some work. Limits of single files do not bound their number, and not
 *  every file system has directory quotas. The usage of the whole file system costs nothing to read and is
 *  polled often. The directory itself is measured, by a program, when the file system has grown as if all
 *  of it went there; periodically, because others may have freed space meanwhile; and once at the end. */
import { statfs } from 'node:fs/promises';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';

export interface BoundSize {
  readonly clock: Clock;
  readonly run: RunProgram;
  readonly dir: string;
  readonly totalBytes: number;
  /** Used bytes of the directory's file system; read from the kernel by default. */
  readonly inUse?: (dir: string) => Promise<number>;
}

/** Polling interval of the file system. */
const PERIOD_MS = 1000;
/** Longest interval between two measurements. */
const MEASURED_MS = 20_000;
const MEASURE_MS = 60_000;

async function measure({ run, dir }: BoundSize, signal: AbortSignal): Promise<number> {
  const args = ['--summarize', '--one-file-system', '--block-size=1', '--', dir];
  const result = await run('du', args, { signal, timeoutMs: MEASURE_MS });
  // Files may change during the measurement; du still prints a sum.
  const bytes = /^(\d+)\t/m.exec(result.stdout)?.[1];
  if (bytes === undefined) throw new VolumeSetupError(failText('du', result));
  return Number(bytes);
}

/** @returns the remaining bytes */
async function check(bound: BoundSize, signal: AbortSignal): Promise<number> {
  const left = bound.totalBytes - (await measure(bound, signal));
  if (left < 0) throw new VolumeSetupError(`it exceeds the limit of ${bound.totalBytes} bytes`);
  return left;
}

async function bytesInUse(dir: string): Promise<number> {
  const { blocks, bfree, bsize } = await statfs(dir);
  return (blocks - bfree) * bsize;
}

/** Runs until the signal fires. @throws VolumeSetupError when the limit is exceeded; the signal's reason */
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

/** @throws VolumeSetupError when the limit is exceeded, after `work` was aborted; the error of `work` */
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
