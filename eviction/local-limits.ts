/** Ends pods that use more of the node's disk than they may. Volumes are measured from time to time, and sooner when
 *  the file system has filled so much that one of them may be over its limit: until then none can be, however little
 *  is known of them. Rests while no pod has a limit. */
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { hasSizeLimits, headroom, limitExceeded, type VolumeUse } from './local-storage.ts';

export interface LocalLimitsDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'error' | 'info'>;
  /** Pods that have not ended and may be. */
  readonly pods: () => readonly Pod[];
  /** As it was measured last. */
  readonly useOf: (podUID: string) => VolumeUse;
  /** Measures all volumes. */
  readonly measure: () => Promise<void>;
  /** Bytes in use on the file system that the volumes lie on, at once. */
  readonly usedBytes: () => Promise<number>;
  /** Ends the pod; resolves when that is begun. */
  readonly evict: (pod: Pod, message: string) => Promise<void>;
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

  const useOfPod = ({ metadata }: Pod): VolumeUse => useOf(metadata?.uid ?? '');

  async function enforce(): Promise<boolean> {
    const over = pods().flatMap((pod) => {
      const message = limitExceeded(pod, useOfPod(pod));
      return message === undefined ? [] : [{ pod, message }];
    });
    for (const { pod, message } of over) {
      log.info(
        { pod: pod.metadata?.name, podUID: pod.metadata?.uid },
        'Pod uses more local storage than it may',
      );
      await evict(pod, message);
    }
    return over.length > 0;
  }

  async function isDue(limited: readonly Pod[]): Promise<boolean> {
    if (last === undefined || clock.monotonic() >= last.dueMs) return true;
    const least = Math.min(...limited.map((pod) => headroom(pod, useOfPod(pod))));
    return (await deps.usedBytes()) - last.usedBytes >= least;
  }

  async function look(signal: AbortSignal): Promise<number | undefined> {
    const limited = pods().filter((pod) => hasSizeLimits(pod));
    if (limited.length === 0) return undefined;
    if (await isDue(limited)) {
      const usedBytes = await deps.usedBytes();
      await deps.measure();
      signal.throwIfAborted();
      last = { usedBytes, dueMs: clock.monotonic() + periodMs * (1 - SPREAD * random()) };
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
