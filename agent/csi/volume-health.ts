/** Tells pods of volumes that are in a bad way, as the drivers of the volumes say. Asks only while a driver says such
 *  things, since each look measures all volumes. Source: upstream's `volumeStatCalculator`, release 1.24. */
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { Driver, Drivers } from '#volumes/csi/contract.ts';
import type { UsageFigures } from '#volumes/usage/disk-usage.ts';
import type { PodEvent } from '../pods/operations/deps.ts';

export interface VolumeHealthDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly drivers: Pick<Drivers, 'onChange'> & { list(): readonly Pick<Driver, 'capabilities'>[] };
  readonly pods: () => readonly Pod[];
  /** Measures all volumes. */
  readonly measure: () => Promise<void>;
  /** As it was measured last. */
  readonly figuresOf: (podUID: string) => readonly Pick<UsageFigures, 'name' | 'condition' | 'atMs'>[];
  readonly event: PodEvent;
}

export interface VolumeHealthOptions {
  /** Time between two looks, in ms. */
  readonly periodMs: number;
}

/** Looks until the signal fires. Never rejects. */
export async function runVolumeHealth(
  deps: VolumeHealthDeps,
  { periodMs }: VolumeHealthOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, drivers, pods, measure, figuresOf, event } = deps;

  /** @param sinceMs older figures were told before */
  function tell(sinceMs: number): void {
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
      tell(beginMs);
      return clock.now() + periodMs;
    },
    onError: (error) => log.warn({ err: asError(error) }, 'Health of volumes could not be looked at'),
  });
  const end = drivers.onChange(() => loop.wake());
  loop.wake();
  await loop.run(signal);
  end();
}
