/** Ends pods that use more of the node's disk than they may. What they take is measured from time to time, and sooner when
 *  the file system has filled so much that one of them may be over its limit: until then none can be, however little
 *  is known of them. Rests while no pod has a limit. */
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
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
  /** Pods that have not ended and may be. */
  readonly pods: () => readonly Pod[];
  /** As it was measured last. */
  readonly useOf: (podUID: string) => PodUse;
  /** Measures all volumes and logs.
   *  @param containers whether layers of containers are to be known, too */
  readonly measure: (containers: boolean) => Promise<void>;
  /** Bytes in use on the file systems that volumes, logs and layers lie on, at once. */
  readonly usedBytes: () => Promise<number>;
  /** Ends the pod; resolves when that is begun. */
  readonly evict: (pod: Pod, message: string, broken: LimitSignal) => Promise<void>;
  /** From 0 to 1. */
  readonly random: () => number;
}

export interface LocalLimitsOptions {
  /** Longest time between two measurements, in ms. */
  readonly periodMs: number;
}

export interface LocalLimits {
  /** There may be pods with limits now. */
  readonly wake: () => void;
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Ends the pods that were seen to be over their limits; whether there was any. */
  readonly enforce: () => Promise<boolean>;
}

/** Runtimes know what layers take from some seconds ago, in ms: after a sign that one has grown it is asked again. */
const RUNTIME_LAG_MS = 12_000;
/** How often it is looked how full the file system is, in ms. */
const LOOK_MS = 10_000;
/** Part of the period by which measurements come sooner, so that those of many nodes don't come together. */
const SPREAD = 0.1;

interface Measurement {
  readonly dueMs: number;
  /** Just before. */
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
      log.info(
        { pod: pod.metadata?.name, podUID: pod.metadata?.uid },
        'Pod uses more local storage than it may',
      );
      await evict(pod, message, signal);
    }
    return over.length > 0;
  }

  /** Whether the disk has filled so much since the last measurement that a limit may be broken. */
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

  async function look(signal: AbortSignal): Promise<number | undefined> {
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
    return clock.now() + Math.min(LOOK_MS, periodMs);
  }

  const loop = createLoop({
    clock,
    step: look,
    onError: (error) =>
      log.error({ err: asError(error) }, 'Limits of local storage could not be looked after'),
  });
  return { wake: () => loop.wake(), run: (signal) => loop.run(signal), enforce };
}
