/** Emits events for volumes with abnormal conditions, as reported by their drivers. Polls only while a driver
 *  supports conditions, since each round measures all volumes. Source: upstream's `volumeStatCalculator`,
 *  release 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Driver, Drivers } from '#volumes/contract/csi.ts';
import type { UsageFigures } from '#volumes/usage/disk-usage.ts';
import type { PodEvent } from '../pods/pod-event.ts';

export interface VolumeHealthDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly drivers: Pick<Drivers, 'onChange'> & { list(): readonly Pick<Driver, 'capabilities'>[] };
  readonly pods: () => readonly Pod[];
  /** Measures all volumes. */
  readonly measure: () => Promise<void>;
  /** Results of the last measurement. */
  readonly figuresOf: (podUID: string) => readonly Pick<UsageFigures, 'name' | 'condition' | 'atMs'>[];
  readonly event: PodEvent;
}

export interface VolumeHealthOptions {
  /** Interval of the checks, in ms. */
  readonly periodMs: number;
}

/** Checks until the signal fires. Never rejects. */
export async function runVolumeHealth(
  deps: VolumeHealthDeps,
  { periodMs }: VolumeHealthOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, drivers, pods, measure, figuresOf, event } = deps;

  /** @param sinceMs older measurements were reported before */
  function report(sinceMs: number): void {
    for (const pod of pods()) {
      for (const { name, condition, atMs } of figuresOf(pod.metadata?.uid ?? '')) {
        if (condition?.abnormal !== true || atMs < sinceMs) continue;
        event(pod, 'Warning', 'VolumeConditionAbnormal', `Volume ${name}: ${condition.message}`);
      }
    }
  }

  const loop = createLoop({
    clock,
    async step() {
      if (!drivers.list().some(({ capabilities }) => capabilities.has('VOLUME_CONDITION'))) return undefined;
      const beginMs = clock.now();
      await measure();
      if (signal.aborted) return undefined;
      report(beginMs);
      return clock.now() + periodMs;
    },
    onError: (error) => log.warn({ err: asError(error) }, 'Failed to check volume health'),
  });
  const end = drivers.onChange(() => loop.wake());
  loop.wake();
  await loop.run(signal);
  end();
}
