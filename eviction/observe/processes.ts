/** How many more processes and threads the machine can have. @see proc(5), sysctl kernel/pid_max, threads-max */
import type { ReadText } from './memory.ts';

export interface ProcessNumbers {
  readonly capacity: number;
  readonly available: number;
}

/** Every thread takes a number, whoever has it. Pure.
 *  @param loadavg text of /proc/loadavg, whose fourth word is `<runnable>/<all>`
 *  @returns undefined where the texts don't tell */
export function processNumbers(
  pidMax: string,
  threadsMax: string,
  loadavg: string,
): ProcessNumbers | undefined {
  const capacity = Math.min(Number(pidMax), Number(threadsMax));
  const running = Number(/(?<!\d)\d+\/(\d+)/.exec(loadavg)?.[1] ?? Number.NaN);
  if (!Number.isFinite(capacity) || !Number.isFinite(running)) return undefined;
  return { capacity, available: Math.max(0, capacity - running) };
}

export async function readProcessNumbers(readText: ReadText): Promise<ProcessNumbers | undefined> {
  const [pidMax = '', threadsMax = '', loadavg = ''] = await Promise.all(
    ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max', '/proc/loadavg'].map(readText),
  );
  return processNumbers(pidMax, threadsMax, loadavg);
}
