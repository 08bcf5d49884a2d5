/** The cgroups of the classes of service: what a class weighs follows what its pods asked for. */
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type CgroupLimits, type ClassOptions, classLimits } from './limits.ts';
import { type CgroupName, type PodCgroupOptions, qosCgroup } from './names.ts';
import type { OpenCgroups } from './open-cgroups.ts';
import type { PodShare } from './pod-amounts.ts';

export interface ClassCgroups {
  /** Follows what pods there are, soon. */
  update(): void;
  /** The same, and waits for it. Never rejects. */
  settled(): Promise<void>;
}

export interface ClassCgroupsDeps {
  readonly opened: OpenCgroups;
  /** Of the pods that there are. */
  readonly shares: () => readonly PodShare[];
  readonly log: Logger;
}

export interface ClassCgroupsOptions extends PodCgroupOptions, ClassOptions {
  readonly rootLimits: CgroupLimits;
}

export function createClassCgroups(
  { opened, shares, log }: ClassCgroupsDeps,
  options: ClassCgroupsOptions,
): ClassCgroups {
  const { maker } = opened;

  async function setClass(name: CgroupName, limits: CgroupLimits): Promise<void> {
    let faults = await opened.set(name, limits);
    if (faults.some(({ write }) => write.controller === 'memory') && limits.memoryBytes !== undefined) {
      // More is in use than is to be had: held where it is, so that it can only become less.
      const used = BigInt((await maker.tree.memoryBytes(maker.path(name))) ?? 0);
      if (used > limits.memoryBytes) faults = await opened.set(name, { ...limits, memoryBytes: used });
    }
    for (const { write, error } of faults) {
      log.warn(
        { err: error, cgroup: maker.path(name), file: write.file },
        'Limit of a class of pods was refused',
      );
    }
  }

  async function setAll(): Promise<void> {
    const { burstable, bestEffort, memoryMinBytes } = classLimits(shares(), options);
    await setClass(qosCgroup(options, 'Burstable'), burstable);
    await setClass(qosCgroup(options, 'BestEffort'), bestEffort);
    if (options.memoryQoS) await setClass(options.root, { ...options.rootLimits, memoryMinBytes });
  }

  return createCoalesced(() =>
    setAll().catch((thrown: unknown) => {
      log.warn({ err: asError(thrown) }, 'Cgroups of classes of pods could not be made');
    }),
  );
}

/** Runs the task once more after calls that come while it runs, however many come. */
function createCoalesced(task: () => Promise<void>): ClassCgroups {
  let asked = false;
  let underWay: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (asked) {
      asked = false;
      await task();
    }
    underWay = undefined;
  }

  function settled(): Promise<void> {
    asked = true;
    underWay ??= run();
    return underWay;
  }

  return { settled, update: () => void settled() };
}
