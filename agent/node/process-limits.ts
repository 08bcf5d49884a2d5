/** Kernel limits of the agent's own process. A rejected one is logged and ignored. */

import { writeFile } from 'node:fs/promises';
import koffi from 'koffi';
import type { Int64 } from '#api/kit/int64.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface ProcessLimits {
  /** −1000 to 1000; a lower value is killed later when memory runs out. */
  readonly oomScoreAdj: number;
  readonly maxOpenFiles: Int64;
}

const RLIMIT_NOFILE = 7;

export async function applyProcessLimits(limits: ProcessLimits, log: Logger): Promise<void> {
  await writeFile('/proc/self/oom_score_adj', String(limits.oomScoreAdj)).catch((err: unknown) => {
    log.info({ err, oomScoreAdj: limits.oomScoreAdj }, 'Failed to set OOM score');
  });
  const errno = setOpenFiles(limits.maxOpenFiles);
  if (errno !== 0) log.info({ errno, maxOpenFiles: limits.maxOpenFiles }, 'Failed to set open file limit');
}

/** @returns 0, or the errno */
function setOpenFiles(limit: Int64): number {
  const call: (resource: number, limits: BigUint64Array) => number = koffi
    .load('libc.so.6')
    .func('int setrlimit(int, void *)');
  const wanted = new BigUint64Array([BigInt(limit), BigInt(limit)]);
  return call(RLIMIT_NOFILE, wanted) === 0 ? 0 : koffi.errno();
}
