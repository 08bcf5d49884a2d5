/** When memory can run short next, for kernels that don't tell when use crosses a threshold. Pure.
 *  On cgroup v2 the only notice is that processes wait for memory, and where a threshold is above what the kernel needs
 *  itself nobody waits when it is crossed. So the nearer it is, the sooner it is looked at again. */
import { workingSet } from '../observe/memory.ts';
import type { MemoryLook } from '../observe/observer.ts';
import type { Signal } from '../signals.ts';
import { leastAvailable, type Threshold } from '../thresholds.ts';

/** How fast pods are thought to take memory. Whoever takes it faster is noticed by those who then wait for it. */
const BYTES_PER_MS = (256 * 2 ** 20) / 1000;
/** Between two looks, in ms: with the end of a pod this is less than half a second, and looks are half a percent of a
 *  processor, while memory is as near to its threshold as this. */
const SOONEST_MS = 300;

/** Time after the last look in ms; undefined where the kernel tells by itself, or nothing more can be crossed.
 *  Soft thresholds have time. */
export function nextCrossingMs(
  thresholds: readonly Threshold[],
  looks: ReadonlyMap<Signal, MemoryLook>,
): number | undefined {
  const times = thresholds.flatMap((threshold) => {
    const look = looks.get(threshold.signal);
    if (look?.hierarchy.version !== 2 || !threshold.hard) return [];
    const { capacityBytes, use } = look;
    const left = capacityBytes - workingSet(use) - leastAvailable(threshold, capacityBytes, false);
    return left < 0 ? [] : [Math.max(SOONEST_MS, left / BYTES_PER_MS)];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}
