/** Cgroups of the node beside those of pods: what amounts are kept for is limited to them, and processes are moved to
 *  where they belong. Looked at anew now and then, as others start processes and change limits.
 *  Source: document 3, 4.3; upstream's container manager (`enforceExistingCgroup`, `ensureSystemCgroups`), 1.24. */
import { readlink } from 'node:fs/promises';
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { codeOf } from './cgroup-fs.ts';
import type { CgroupMaker } from './cgroupfs-driver.ts';
import type { CgroupLimits } from './limits.ts';
import { type CgroupName, parseCgroupName } from './names.ts';

/** A part of the node that amounts are kept for. */
export interface ReservedPart {
  /** As in `--enforce-node-allocatable`. */
  readonly group: string;
  readonly cgroup: string;
  readonly limits: CgroupLimits;
}

export interface NodeCgroupsOptions {
  readonly reserved: readonly ReservedPart[];
  /** Where the agent's own process belongs; empty leaves it where it is. */
  readonly agentCgroup: string;
  /** Where processes belong that are in no cgroup; empty leaves them. */
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
  /** Kernel threads belong to the root. */
  readonly isKernelThread?: (pid: number) => Promise<boolean>;
}

/** As often as upstream. */
const PERIOD_MS = 60_000;
/** Processes may be born while others are moved. */
const ROUNDS = 10;

const hasNoProgram = (pid: number): Promise<boolean> =>
  readlink(`/proc/${pid}/exe`).then(
    () => false,
    (thrown: unknown) => codeOf(thrown) === 'ENOENT',
  );

/** A cgroup that is configured and can't be used. */
export class NodeCgroupError extends Error {
  override readonly name = 'NodeCgroupError';
}

async function limitPart(maker: CgroupMaker, { group, cgroup, limits }: ReservedPart): Promise<void> {
  const path = maker.path(parseCgroupName(cgroup));
  if (!(await maker.tree.exists(path))) {
    throw new NodeCgroupError(
      `the cgroup ${cgroup} of ${group} does not exist: make it before the agent starts`,
    );
  }
  const [fault] = await maker.limit(path, limits);
  if (fault === undefined) return;
  const { write, error } = fault;
  throw new NodeCgroupError(`${group}: ${write.file} = ${write.text} was refused`, { cause: error });
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
    // One that has ended meanwhile needs no place.
    for (const pid of others) await maker.tree.move(path, pid).catch(() => undefined);
  }
}

/** What is configured; nothing to do where it is empty. */
export const hasNodeCgroups = ({ reserved, agentCgroup, systemCgroup }: NodeCgroupsOptions): boolean =>
  reserved.length > 0 || agentCgroup !== '' || systemCgroup !== '';

/** Until the signal fires. Never rejects: what fails is told once, and tried again. */
export async function runNodeCgroups(
  deps: NodeCgroupsDeps,
  options: NodeCgroupsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { open, clock, log, event, pid } = deps;
  const told = new Map<string, string>();

  async function attempt(what: string, step: () => Promise<void>, done?: string): Promise<void> {
    const outcome = await step().then(
      () => '',
      (thrown: unknown) => asError(thrown).message,
    );
    if (told.get(what) === outcome) return;
    told.set(what, outcome);
    if (outcome === '') {
      if (done === undefined) log.info({ what }, 'Processes are in their cgroup');
      else event({ type: 'Normal', reason: 'NodeAllocatableEnforced', message: done });
      return;
    }
    log.error({ what, reason: outcome, retryMs: PERIOD_MS }, 'Cgroup of the node could not be set up');
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
