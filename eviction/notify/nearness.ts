/** Predicts when memory may cross a threshold, for kernels without notifications of crossings. Pure.
 *  On cgroup v2 the only notification is that processes wait for memory, which does not happen at thresholds
 *  above the reserves of the kernel. So the closer a threshold is, the sooner memory is checked again. */
import { workingSet } from '../observe/memory.ts';
import type { MemoryReading } from '../observe/observer.ts';
import type { Signal } from '../signals.ts';
import { leastAvailable, type Threshold } from '../thresholds.ts';

/** Assumed maximum growth rate of pod memory. Faster growth is detected through the processes that then wait
 *  for memory. */
const BYTES_PER_MS = (256 * 2 ** 20) / 1000;
/** Minimum time between checks, in ms: including the eviction of a pod this is less than half a second, and
 *  checks use half a percent of a CPU while memory is this close to a threshold. */
const SOONEST_MS = 300;

/** Returns the time after the last check in ms; undefined if the kernel notifies, or no threshold can be
 *  crossed.
 *  Soft thresholds are not urgent. */
export function nextCrossingMs(
  thresholds: readonly Threshold[],
  readings: ReadonlyMap<Signal, MemoryReading>,
): number | undefined {
  const times = thresholds.flatMap((threshold) => {
    const reading = readings.get(threshold.signal);
    if (reading?.hierarchy.version !== 2 || !threshold.hard) return [];
    const { capacityBytes, use } = reading;
    const left = capacityBytes - workingSet(use) - leastAvailable(threshold, capacityBytes, false);
    return left < 0 ? [] : [Math.max(SOONEST_MS, left / BYTES_PER_MS)];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}
