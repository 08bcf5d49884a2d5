/** Cgroup of all pods, created once, and the limits that the machine supports in it. */
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { CgroupMaker } from './cgroupfs-driver.ts';
import { CgroupDriverError } from './driver.ts';
import { type CgroupLimits, LIMIT_CONTROLLERS, type LimitController } from './limits.ts';
import type { CgroupName } from './names.ts';
import type { CgroupError } from './tree.ts';

export interface OpenCgroups {
  readonly maker: CgroupMaker;
  /** Rejected limits of the first update of the cgroup of all pods. */
  readonly errors: readonly CgroupError[];
  /** Creates the cgroup and sets limits. @returns the rejected ones, except those of missing controllers,
   *  which were logged once. @throws Error when it cannot be created */
  set(name: CgroupName, limits: CgroupLimits): Promise<readonly CgroupError[]>;
}

export interface OpenDeps {
  /** Undefined where no cgroups are mounted. */
  readonly open: () => Promise<CgroupMaker | undefined>;
  readonly log: Logger;
}

/** Returns undefined, and logs it, where pod cgroups are unavailable.
 *  @throws CgroupDriverError, since the runtime could not run pods then */
export async function openCgroups(
  { open, log }: OpenDeps,
  root: CgroupName,
  limits: CgroupLimits,
): Promise<OpenCgroups | undefined> {
  let maker: CgroupMaker | undefined;
  try {
    maker = await open();
    if (maker === undefined) throw new Error('no cgroups are mounted');
    const errors = await maker.set(root, limits);
    const there = await maker.tree.controllers(maker.path(root));
    const missing = LIMIT_CONTROLLERS.filter((one) => !there.has(one));
    reportMissing(log, missing);
    const expected = new Set<LimitController>(missing);
    const unexpected = (all: readonly CgroupError[]): readonly CgroupError[] =>
      all.filter(({ write }) => !expected.has(write.controller));
    const created = maker;
    return {
      maker,
      errors: unexpected(errors),
      set: async (name, wanted) => unexpected(await created.set(name, wanted)),
    };
  } catch (thrown) {
    maker?.close();
    if (thrown instanceof CgroupDriverError) throw thrown;
    const remedy = 'pod-level limits are not set; nodeagent doctor reports what this machine lacks';
    log.warn({ err: asError(thrown), remedy }, 'Pod cgroups unavailable');
    return undefined;
  }
}

/** Huge pages are rare: most machines have no controller for them, and containers no limits. */
function reportMissing(log: Logger, missing: readonly LimitController[]): void {
  const controllers = missing.filter((one) => one !== 'hugetlb');
  if (controllers.length === 0) return;
  log.warn({ controllers }, 'Pod limits skipped for missing cgroup controllers');
}
