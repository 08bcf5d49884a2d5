/** Evicts pods that exceed their limits of local storage. Usage is measured periodically, and earlier when
 *  the file system has filled so much that a pod may exceed its limit: before that none can, whatever the
 *  distribution among pods. Idle while no pod has a limit. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import {
  brokenLimit,
  hasContainerLimits,
  hasLimits,
  headroom,
  type LimitSignal,
  type PodUse,
} from './local-storage.ts';

export interface LocalLimitsDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'error' | 'info'>;
  /** Returns pods that have not ended and may be evicted. */
  readonly pods: () => readonly Pod[];
  /** Returns the usage of the last measurement. */
  readonly useOf: (podUID: string) => PodUse;
  /** Measures all volumes and logs.
   *  @param containers whether container layers are required, too */
  readonly measure: (containers: boolean) => Promise<void>;
  /** Returns the current used bytes of the file systems of volumes, logs and layers. */
  readonly usedBytes: () => Promise<number>;
  /** Evicts the pod; resolves when the eviction has started. */
  readonly evict: (pod: Pod, message: string, broken: LimitSignal) => Promise<void>;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
}

export interface LocalLimitsOptions {
  /** Maximum time between two measurements, in ms. */
  readonly periodMs: number;
}

export interface LocalLimits {
  /** Checks again: there may be pods with limits. */
  readonly wake: () => void;
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Evicts the pods that exceed their limits; returns whether there were any. */
  readonly enforce: () => Promise<boolean>;
}

/** Runtimes report layer sizes that are some seconds old, in ms: after a sign of growth they are queried
 *  again. */
const RUNTIME_LAG_MS = 12_000;
/** Interval at which the usage of the file system is checked, in ms. */
const CHECK_MS = 10_000;
/** Jitter of the period, so that many nodes do not measure at the same time. */
const SPREAD = 0.1;

interface Measurement {
  readonly dueMs: number;
  /** Immediately before. */
  readonly usedBytes: number;
}

export function createLocalLimits(deps: LocalLimitsDeps, { periodMs }: LocalLimitsOptions): LocalLimits {
  const { clock, log, pods, useOf, evict, random } = deps;
  let last: Measurement | undefined;

  const useOfPod = ({ metadata }: Pod): PodUse => useOf(metadata?.uid ?? '');

  async function enforce(): Promise<boolean> {
    const over = pods().flatMap((pod) => {
      const broken = brokenLimit(pod, useOfPod(pod));
      return broken === undefined ? [] : [{ pod, ...broken }];
    });
    for (const { pod, message, signal } of over) {
      log.info({ pod: pod.metadata?.name, podUID: pod.metadata?.uid }, 'Local storage limit exceeded');
      await evict(pod, message, signal);
    }
    return over.length > 0;
  }

  /** Reports whether the disk has filled so much since the last measurement that a limit may be exceeded. */
  async function hasFilled(limited: readonly Pod[]): Promise<boolean> {
    if (last === undefined) return false;
    const least = Math.min(...limited.map((pod) => headroom(pod, useOfPod(pod))));
    return (await deps.usedBytes()) - last.usedBytes >= least;
  }

  async function measure(containers: boolean, afterMs: number): Promise<void> {
    const usedBytes = await deps.usedBytes();
    await deps.measure(containers);
    last = { usedBytes, dueMs: clock.monotonic() + afterMs };
  }

  async function check(signal: AbortSignal): Promise<number | undefined> {
    const limited = pods().filter((pod) => hasLimits(pod));
    if (limited.length === 0) return undefined;
    const isDue = last === undefined || clock.monotonic() >= last.dueMs;
    const filled = !isDue && (await hasFilled(limited));
    if (isDue || filled) {
      const containers = limited.some((pod) => hasContainerLimits(pod));
      const inTurnMs = periodMs * (1 - SPREAD * random());
      await measure(containers, filled && containers ? Math.min(RUNTIME_LAG_MS, inTurnMs) : inTurnMs);
      signal.throwIfAborted();
      await enforce();
    }
    return clock.now() + Math.min(CHECK_MS, periodMs);
  }

  const loop = createLoop({
    clock,
    step: check,
    onError: (error) => log.error({ err: asError(error) }, 'Failed to check local storage limits'),
  });
  return { wake: () => loop.wake(), run: (signal) => loop.run(signal), enforce };
}
