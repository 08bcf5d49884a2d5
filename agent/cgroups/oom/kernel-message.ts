/** What the kernel says when it ends a process because memory ran out. Pure.
 *  Source: `dump_oom_summary` in mm/oom_kill.c; the kernel's document on /dev/kmsg (ABI/testing/dev-kmsg). */

export interface OomKill {
  /** The cgroup whose limit was reached; undefined when the machine's own memory ran out. */
  readonly limitedBy: string | undefined;
  /** The cgroup of the process that was ended. */
  readonly cgroup: string;
  readonly process: string;
  readonly pid: number;
}

/** Lowest bits of a record's priority: above them is who wrote it, 0 for the kernel alone. */
const KERNEL_PRIORITIES = 8;

// A process may call itself anything, but the kernel says its number last.
const SUMMARY =
  /^oom-kill:constraint=[^,]*,nodemask=.*?,(?:oom_memcg=(?<limited>\/.*?)|global_oom),task_memcg=(?<cgroup>\/.*?),task=(?<task>.*),pid=(?<pid>\d+),uid=\d+$/;

/** Reads one record of /dev/kmsg; undefined for one about something else, or that a program wrote. */
export function parseOomKill(record: string): OomKill | undefined {
  const [line = ''] = record.split('\n');
  const semicolon = line.indexOf(';');
  const priority = Number(line.slice(0, line.indexOf(',')));
  if (semicolon < 0 || !(priority >= 0 && priority < KERNEL_PRIORITIES)) return undefined;
  const found = SUMMARY.exec(line.slice(semicolon + 1))?.groups;
  if (found === undefined) return undefined;
  const { limited, cgroup = '/', task = '', pid } = found;
  return { limitedBy: limited, cgroup, process: task, pid: Number(pid) };
}

/** The ID of the container that a cgroup is of, or is within. */
export const containerIdOf = (cgroup: string): string | undefined => /[0-9a-f]{64}/.exec(cgroup)?.[0];
