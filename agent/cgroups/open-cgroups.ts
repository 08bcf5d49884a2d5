/** The cgroup of all pods, made once, and what the machine can limit in it. */
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { CgroupMaker } from './cgroupfs-driver.ts';
import { CgroupDriverError } from './driver.ts';
import { type CgroupLimits, LIMIT_CONTROLLERS, type LimitController } from './limits.ts';
import type { CgroupName } from './names.ts';
import type { CgroupFault } from './tree.ts';

export interface OpenCgroups {
  readonly maker: CgroupMaker;
  /** Of the first time that the limits of all pods were set. */
  readonly faults: readonly CgroupFault[];
  /** Makes the cgroup and sets limits. @returns those that were refused, but for those of controllers that the machine
   *  doesn't have: that was told once. @throws Error when it can't be made */
  set(name: CgroupName, limits: CgroupLimits): Promise<readonly CgroupFault[]>;
}

export interface OpenDeps {
  /** Undefined where no cgroups are mounted. */
  readonly open: () => Promise<CgroupMaker | undefined>;
  readonly log: Logger;
}

/** Undefined where pods can have no cgroups of their own, which is told.
 *  @throws CgroupDriverError as then the runtime can't run pods anyhow */
export async function openCgroups(
  { open, log }: OpenDeps,
  root: CgroupName,
  limits: CgroupLimits,
): Promise<OpenCgroups | undefined> {
  let maker: CgroupMaker | undefined;
  try {
    maker = await open();
    if (maker === undefined) throw new Error('no cgroups are mounted');
    const faults = await maker.set(root, limits);
    const there = await maker.tree.controllers(maker.path(root));
    const missing = LIMIT_CONTROLLERS.filter((one) => !there.has(one));
    tellMissing(log, missing);
    const expected = new Set<LimitController>(missing);
    const unexpected = (all: readonly CgroupFault[]): readonly CgroupFault[] =>
      all.filter(({ write }) => !expected.has(write.controller));
    const made = maker;
    return {
      maker,
      faults: unexpected(faults),
      set: async (name, wanted) => unexpected(await made.set(name, wanted)),
    };
  } catch (thrown) {
    maker?.close();
    if (thrown instanceof CgroupDriverError) throw thrown;
    const remedy = 'limits of pods as a whole are not set; nodeagent doctor tells what this machine lacks';
    log.warn({ err: asError(thrown), remedy }, 'Pods get no cgroups of their own');
    return undefined;
  }
}

/** Huge pages are rare: most machines have no controller for them, and containers no limits. */
function tellMissing(log: Logger, missing: readonly LimitController[]): void {
  const controllers = missing.filter((one) => one !== 'hugetlb');
  if (controllers.length === 0) return;
  log.warn({ controllers }, 'Limits of pods are not set where the machine has no controller for them');
}
