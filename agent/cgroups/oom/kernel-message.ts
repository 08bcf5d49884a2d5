/** Parser of the kernel's OOM kill messages. Pure.
 *  Source: `dump_oom_summary` in mm/oom_kill.c; the kernel's document on /dev/kmsg (ABI/testing/dev-kmsg). */

export interface OomKill {
  /** Cgroup whose limit was reached; undefined when the machine ran out of memory. */
  readonly limitedBy: string | undefined;
  /** Cgroup of the killed process. */
  readonly cgroup: string;
  readonly process: string;
  readonly pid: number;
}

/** Lowest bits of the priority of a record; the facility above them is 0 only for the kernel. */
const KERNEL_PRIORITIES = 8;

const SUMMARY = /^oom-kill:constraint=[^,]*,nodemask=/;
// A process name may contain anything, but the kernel prints the pid last.
const LAST = /,pid=(\d{1,10}),uid=\d{1,10}$/;
const LIMITED = ',oom_memcg=/';
const GLOBAL = ',global_oom,task_memcg=/';
const CGROUP = ',task_memcg=/';
const TASK = ',task=';

/** Locates each part at its first possible position: a single search for each. */
function parseSummary(text: string): OomKill | undefined {
  const [head] = SUMMARY.exec(text) ?? [];
  const last = LAST.exec(text);
  if (head === undefined || last === null) return undefined;
  const body = text.slice(0, last.index);
  const limitedAt = body.indexOf(LIMITED, head.length);
  const globalAt = body.indexOf(GLOBAL, head.length);
  const isGlobal = globalAt >= 0 && (limitedAt < 0 || globalAt < limitedAt);
  if (!isGlobal && limitedAt < 0) return undefined;
  const cgroupAt = body.indexOf(CGROUP, isGlobal ? globalAt : limitedAt + LIMITED.length);
  const taskAt = cgroupAt < 0 ? -1 : body.indexOf(TASK, cgroupAt + CGROUP.length);
  if (taskAt < 0) return undefined;
  return {
    limitedBy: isGlobal ? undefined : body.slice(limitedAt + LIMITED.length - 1, cgroupAt),
    cgroup: body.slice(cgroupAt + CGROUP.length - 1, taskAt),
    process: body.slice(taskAt + TASK.length),
    pid: Number(last[1]),
  };
}

/** Parses one record of /dev/kmsg; undefined for other messages, or those written by a program. */
export function parseOomKill(record: string): OomKill | undefined {
  const [line = ''] = record.split('\n');
  const semicolon = line.indexOf(';');
  const priority = Number(line.slice(0, line.indexOf(',')));
  if (semicolon < 0 || !(priority >= 0 && priority < KERNEL_PRIORITIES)) return undefined;
  return parseSummary(line.slice(semicolon + 1));
}

/** Returns the ID of the container that a cgroup belongs to. */
export const containerIdOf = (cgroup: string): string | undefined => /[0-9a-f]{64}/.exec(cgroup)?.[0];
