/** Cgroups of the QoS classes: the weight of a class follows the requests of its pods. */
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type CgroupLimits, type ClassOptions, classLimits } from './limits.ts';
import { type CgroupName, type PodCgroupOptions, qosCgroup } from './names.ts';
import type { OpenCgroups } from './open-cgroups.ts';
import type { PodShare } from './pod-amounts.ts';

export interface ClassCgroups {
  /** Schedules an update after a change of the pods. */
  update(): void;
  /** The same, and waits for it. Never rejects. */
  settled(): Promise<void>;
}

export interface ClassCgroupsDeps {
  readonly opened: OpenCgroups;
  /** Shares of the current pods. */
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
    let errors = await opened.set(name, limits);
    if (errors.some(({ write }) => write.controller === 'memory') && limits.memoryBytes !== undefined) {
      // Usage already exceeds the limit: clamp the limit to current usage so that it can only shrink.
      const used = BigInt((await maker.tree.memoryBytes(maker.path(name))) ?? 0);
      if (used > limits.memoryBytes) errors = await opened.set(name, { ...limits, memoryBytes: used });
    }
    for (const { write, error } of errors) {
      log.warn(
        { err: error, cgroup: maker.path(name), file: write.file },
        'Failed to set limit of QoS class cgroup',
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
      log.warn({ err: asError(thrown) }, 'Failed to update QoS class cgroups');
    }),
  );
}

/** Coalesces calls during a run of the task into one more run. */
function createCoalesced(task: () => Promise<void>): ClassCgroups {
  let pending = false;
  let inFlight: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (pending) {
      pending = false;
      await task();
    }
    inFlight = undefined;
  }

  function settled(): Promise<void> {
    pending = true;
    inFlight ??= run();
    return inFlight;
  }

  return { settled, update: () => void settled() };
}
