/** Node cgroups besides those of pods: enforces the limits of reserved parts, and moves processes to their
 *  cgroups. Repeated periodically, as others start processes and change limits.
 *  Source: enforcement, document 3 §4.3; upstream's container manager (`enforceExistingCgroup`,
 *  `ensureSystemCgroups`), 1.24. */

import { readlink } from 'node:fs/promises';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { CgroupMaker } from './cgroupfs-driver.ts';
import type { CgroupLimits } from './limits.ts';
import { type CgroupName, parseCgroupName } from './names.ts';

/** A reserved part of the node. */
export interface ReservedPart {
  /** As in `--enforce-node-allocatable`. */
  readonly group: string;
  readonly cgroup: string;
  readonly limits: CgroupLimits;
}

export interface NodeCgroupsOptions {
  readonly reserved: readonly ReservedPart[];
  /** Cgroup of the agent's own process; empty leaves it where it is. */
  readonly agentCgroup: string;
  /** Cgroup for processes in the root cgroup; empty leaves them there. */
  readonly systemCgroup: string;
}

export interface NodeCgroupsDeps {
  readonly open: () => Promise<CgroupMaker | undefined>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly event: (event: {
    readonly type: 'Normal' | 'Warning';
    readonly reason: string;
    readonly message: string;
  }) => void;
  readonly pid: number;
  /** Kernel threads stay in the root. */
  readonly isKernelThread?: (pid: number) => Promise<boolean>;
}

/** Upstream's interval. */
const PERIOD_MS = 60_000;
/** Repeated, as new processes may start during a move. */
const ROUNDS = 10;

const hasNoProgram = (pid: number): Promise<boolean> =>
  readlink(`/proc/${pid}/exe`).then(
    () => false,
    (thrown: unknown) => hasCode(thrown, 'ENOENT'),
  );

/** A configured cgroup cannot be used. */
class NodeCgroupError extends Error {
  override readonly name = 'NodeCgroupError';
}

async function limitPart(maker: CgroupMaker, { group, cgroup, limits }: ReservedPart): Promise<void> {
  const path = maker.path(parseCgroupName(cgroup));
  if (!(await maker.tree.exists(path))) {
    throw new NodeCgroupError(
      `the cgroup ${cgroup} of ${group} does not exist: create it before the agent starts`,
    );
  }
  const [fieldError] = await maker.limit(path, limits);
  if (fieldError === undefined) return;
  const { write, error } = fieldError;
  throw new NodeCgroupError(`${group}: ${write.file} = ${write.text} was rejected`, {
    cause: error,
  });
}

async function cgroupFor(maker: CgroupMaker, text: string, what: string): Promise<CgroupName> {
  const name = parseCgroupName(text);
  if (name.length === 0) throw new NodeCgroupError(`${what} can't be the root`);
  await maker.tree.create(maker.path(name));
  return name;
}

async function moveSystem(
  { isKernelThread = hasNoProgram }: NodeCgroupsDeps,
  maker: CgroupMaker,
  text: string,
): Promise<void> {
  const path = maker.path(await cgroupFor(maker, text, 'the cgroup of the system'));
  for (let round = 0; round < ROUNDS; round += 1) {
    const pids = await maker.tree.rootProcesses();
    const kernel = await Promise.all(pids.map((pid) => isKernelThread(pid)));
    const others = pids.filter((_, index) => kernel[index] !== true);
    if (others.length === 0) return;
    // It may have exited meanwhile.
    for (const pid of others) await maker.tree.move(path, pid).catch(() => undefined);
  }
}

/** Reports whether any of it is configured. */
const hasNodeCgroups = ({ reserved, agentCgroup, systemCgroup }: NodeCgroupsOptions): boolean =>
  reserved.length > 0 || agentCgroup !== '' || systemCgroup !== '';

/** Runs until the signal fires. Never rejects: failures are logged once and retried. */
export async function runNodeCgroups(
  deps: NodeCgroupsDeps,
  options: NodeCgroupsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { open, clock, log, event, pid } = deps;
  const reported = new Map<string, string>();

  async function attempt(what: string, step: () => Promise<void>, done?: string): Promise<void> {
    const outcome = await step().then(
      () => '',
      (thrown: unknown) => asError(thrown).message,
    );
    if (reported.get(what) === outcome) return;
    reported.set(what, outcome);
    if (outcome === '') {
      if (done === undefined) log.info({ what }, 'Processes moved to their cgroup');
      else event({ type: 'Normal', reason: 'NodeAllocatableEnforced', message: done });
      return;
    }
    log.error({ what, reason: outcome, retryMs: PERIOD_MS }, 'Failed to set up node cgroup');
    event({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message: outcome });
  }

  while (hasNodeCgroups(options) && !signal.aborted) {
    const maker = await open().catch(() => undefined);
    const { reserved, agentCgroup, systemCgroup } = options;
    if (maker !== undefined) {
      for (const part of reserved) {
        const done = `Updated limits on ${part.group} cgroup ${part.cgroup}`;
        await attempt(part.group, () => limitPart(maker, part), done);
      }
      if (systemCgroup !== '') {
        await attempt('system', () => moveSystem(deps, maker, systemCgroup));
      }
      if (agentCgroup !== '') {
        const move = async (): Promise<void> => {
          const name = await cgroupFor(maker, agentCgroup, 'the cgroup of the agent');
          await maker.tree.move(maker.path(name), pid);
        };
        await attempt('agent', move);
      }
    }
    await sleep(clock, PERIOD_MS, signal).catch(() => undefined);
  }
}
