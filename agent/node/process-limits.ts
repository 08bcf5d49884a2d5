/** What the agent asks of the kernel for its own process. A wish that is refused is told and lived without. */
import { writeFile } from 'node:fs/promises';
import koffi from 'koffi';
import type { Logger } from '#api/kit/logger.ts';

export interface ProcessLimits {
  /** −1000 to 1000; lower is spared longer when memory runs out. */
  readonly oomScoreAdj: number;
  readonly maxOpenFiles: number;
}

const RLIMIT_NOFILE = 7;

export async function applyProcessLimits(limits: ProcessLimits, log: Logger): Promise<void> {
  await writeFile('/proc/self/oom_score_adj', String(limits.oomScoreAdj)).catch((err: unknown) => {
    log.info({ err, oomScoreAdj: limits.oomScoreAdj }, 'OOM score was left as it is');
  });
  const errno = setOpenFiles(limits.maxOpenFiles);
  if (errno !== 0)
    log.info({ errno, maxOpenFiles: limits.maxOpenFiles }, 'Open file limit was left as it is');
}

/** @returns 0, or the errno */
function setOpenFiles(limit: number): number {
  const call: (resource: number, limits: BigUint64Array) => number = koffi
    .load('libc.so.6')
    .func('int setrlimit(int, void *)');
  const wanted = new BigUint64Array([BigInt(limit), BigInt(limit)]);
  return call(RLIMIT_NOFILE, wanted) === 0 ? 0 : koffi.errno();
}
