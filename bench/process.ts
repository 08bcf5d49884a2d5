/** Resource usage of a process, from /proc. */
import { readFile } from 'node:fs/promises';

/** Ticks of `utime` and `stime`; USER_HZ is 100 on every Linux that Node supports. */
const TICK_SECONDS = 0.01;
const UTIME = 11;
const STIME = 12;

/** Returns the CPU time of all threads of the process so far, in seconds. @throws Error when it does not
 *  run */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may contain anything; count the fields from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[UTIME]) + Number(fields[STIME])) * TICK_SECONDS;
}

/** Returns the resident memory in MiB. @throws Error when it does not run */
export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`process ${pid} has no resident memory`);
  return Number(kibibytes) / 1024;
}
