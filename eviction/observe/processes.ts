/** Available process and thread IDs of the machine. @see proc(5), sysctl kernel/pid_max, threads-max */
import type { ReadText } from './memory.ts';

export interface ProcessNumbers {
  readonly capacity: number;
  readonly available: number;
}

/** Every thread uses an ID. Pure.
 *  @param loadavg content of /proc/loadavg, whose fourth field is `<runnable>/<all>`
 *  @returns undefined if the texts are malformed */
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
