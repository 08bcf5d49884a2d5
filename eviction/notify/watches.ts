/** What the kernel is asked to watch, so that a memory threshold is noticed when it is crossed. Pure.
 *  cgroup v1 tells when the use of a cgroup crosses a number; since that counts files which nobody reads, the number
 *  moves with them. v2 has no such thing: there, and beside it, processes that wait for memory are a sign.
 *  @see the kernel's cgroup-v1/memory (thresholds) and accounting/psi documents */
import type { MemoryLook } from '../observe/observer.ts';
import type { Signal } from '../signals.ts';
import { leastAvailable, type Threshold } from '../thresholds.ts';

export type MemoryWatch =
  /** Use of the cgroup with this folder crosses so many bytes. */
  | { readonly kind: 'usage'; readonly folder: string; readonly bytes: number }
  /** Processes wait for memory, as this file of pressure tells. */
  | { readonly kind: 'stall'; readonly file: string };

const NODE_PRESSURE = '/proc/pressure/memory';
/** Numbers that differ by less are not worth a new watch. */
const STEP_BYTES = 1 << 20;

function watchesOf({ signal, ...threshold }: Threshold, look: MemoryLook): readonly MemoryWatch[] {
  const { hierarchy, path, use, capacityBytes } = look;
  const folder = path === '/' ? hierarchy.mountPoint : `${hierarchy.mountPoint}${path}`;
  if (hierarchy.version === 2) {
    return [{ kind: 'stall', file: path === '/' ? NODE_PRESSURE : `${folder}/memory.pressure` }];
  }
  const least = leastAvailable({ signal, ...threshold }, capacityBytes, false);
  // Rather a little late than too soon: what is not short yet when it is looked at is not told of again.
  const bytes = (Math.floor((capacityBytes - least + use.inactiveFileBytes) / STEP_BYTES) + 1) * STEP_BYTES;
  const stall: MemoryWatch = { kind: 'stall', file: NODE_PRESSURE };
  return bytes <= 0 ? [stall] : [{ kind: 'usage', folder, bytes }, stall];
}

const keyOf = (watch: MemoryWatch): string =>
  watch.kind === 'usage' ? `${watch.folder} ${watch.bytes}` : watch.file;

/** Each once, in a fixed order. */
export function memoryWatches(
  thresholds: readonly Threshold[],
  looks: ReadonlyMap<Signal, MemoryLook>,
): readonly MemoryWatch[] {
  const all = thresholds.flatMap((threshold) => {
    const look = looks.get(threshold.signal);
    return look === undefined ? [] : watchesOf(threshold, look);
  });
  return [...new Map(all.map((watch) => [keyOf(watch), watch])).values()];
}

export const sameWatches = (some: readonly MemoryWatch[], others: readonly MemoryWatch[]): boolean =>
  some.map(keyOf).join('\n') === others.map(keyOf).join('\n');
