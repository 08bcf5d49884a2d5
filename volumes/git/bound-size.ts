/** Ends work that fills a folder with more than it may hold. Limits of single files don't say how many there are, and
 *  not every file system counts for a folder: it is measured now and then by a program, and once more at the end. */
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';

export interface BoundSize {
  readonly clock: Clock;
  readonly run: RunProgram;
  readonly dir: string;
  readonly totalBytes: number;
}

const PERIOD_MS = 1000;
const MEASURE_MS = 60_000;

async function measure({ run, dir }: BoundSize, signal: AbortSignal): Promise<number> {
  const args = ['--summarize', '--one-file-system', '--block-size=1', '--', dir];
  const result = await run('du', args, { signal, timeoutMs: MEASURE_MS });
  // Files come and go meanwhile: a sum is there all the same.
  const bytes = /^(\d+)\t/m.exec(result.stdout)?.[1];
  if (bytes === undefined) throw new VolumeSetupError(failText('du', result));
  return Number(bytes);
}

async function check(bound: BoundSize, signal: AbortSignal): Promise<void> {
  const bytes = await measure(bound, signal);
  if (bytes > bound.totalBytes)
    throw new VolumeSetupError(`it takes more than the ${bound.totalBytes} bytes that it may`);
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
  const watch = async (): Promise<void> => {
    while (!watching.aborted) {
      await sleep(bound.clock, PERIOD_MS, watching);
      await check(bound, watching);
    }
  };
  const watched = watch().catch((thrown: unknown) => {
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
