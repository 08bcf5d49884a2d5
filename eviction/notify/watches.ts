/** Kernel watches with which the crossing of a memory threshold is detected. Pure.
 *  cgroup v1 notifies when the usage of a cgroup crosses a value; since that includes inactive files, the
 *  value is adjusted with them. v2 has no such notification: there, and in addition on v1, processes that
 *  wait for memory are an indication.
 *  @see the kernel's cgroup-v1/memory (thresholds) and accounting/psi documents */
import type { MemoryReading } from '../observe/observer.ts';
import type { Signal } from '../signals.ts';
import { leastAvailable, type Threshold } from '../thresholds.ts';

export type MemoryWatch =
  /** Usage of the cgroup in this directory crosses a number of bytes. */
  | { readonly kind: 'usage'; readonly folder: string; readonly bytes: number }
  /** Processes wait for memory, according to this pressure file. */
  | { readonly kind: 'stall'; readonly file: string };

const NODE_PRESSURE = '/proc/pressure/memory';
/** Smaller differences are not worth a new watch. */
const STEP_BYTES = 1 << 20;

function watchesOf({ signal, ...threshold }: Threshold, reading: MemoryReading): readonly MemoryWatch[] {
  const { hierarchy, path, use, capacityBytes } = reading;
  const folder = path === '/' ? hierarchy.mountPoint : `${hierarchy.mountPoint}${path}`;
  if (hierarchy.version === 2) {
    return [{ kind: 'stall', file: path === '/' ? NODE_PRESSURE : `${folder}/memory.pressure` }];
  }
  const least = leastAvailable({ signal, ...threshold }, capacityBytes, false);
  // Rather slightly late than early: if the threshold is not met yet at the check, there is no second
  // notification.
  const bytes = (Math.floor((capacityBytes - least + use.inactiveFileBytes) / STEP_BYTES) + 1) * STEP_BYTES;
  const stall: MemoryWatch = { kind: 'stall', file: NODE_PRESSURE };
  return bytes <= 0 ? [stall] : [{ kind: 'usage', folder, bytes }, stall];
}

const keyOf = (watch: MemoryWatch): string =>
  watch.kind === 'usage' ? `${watch.folder} ${watch.bytes}` : watch.file;

/** Returns each watch once, in a fixed order. */
export function memoryWatches(
  thresholds: readonly Threshold[],
  readings: ReadonlyMap<Signal, MemoryReading>,
): readonly MemoryWatch[] {
  const all = thresholds.flatMap((threshold) => {
    const reading = readings.get(threshold.signal);
    return reading === undefined ? [] : watchesOf(threshold, reading);
  });
  return [...new Map(all.map((watch) => [keyOf(watch), watch])).values()];
}

export const sameWatches = (some: readonly MemoryWatch[], others: readonly MemoryWatch[]): boolean =>
  some.map(keyOf).join('\n') === others.map(keyOf).join('\n');
