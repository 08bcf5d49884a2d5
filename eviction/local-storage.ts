/** What pods may use of the node's disk by their own word, against what they use: the size limits of their emptyDir
 *  volumes. Pure. Source: document 3, 2.3; upstream's eviction manager (`localStorageEviction`), release 1.24. */
import { canonicalizeQuantity, value } from '#api/meta/quantity.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';

/** Bytes that the pod's volumes take, by name, as far as they were measured. */
export type VolumeUse = ReadonlyMap<string, number>;

interface SizeLimit {
  readonly volume: string;
  /** As it is written, in canonical form. */
  readonly text: string;
  readonly bytes: number;
  /** Nothing else keeps the volume from growing beyond it. */
  readonly isOnDisk: boolean;
}

/** A limit that is no quantity keeps its pod from starting, and is nothing to look after. */
function parseLimit(text: string): Pick<SizeLimit, 'text' | 'bytes'> | undefined {
  try {
    return { text: canonicalizeQuantity(text), bytes: value(text) };
  } catch {
    return undefined;
  }
}

function sizeLimits({ spec }: Pod): readonly SizeLimit[] {
  return (spec?.volumes ?? []).flatMap(({ name, emptyDir }) => {
    const limit = emptyDir?.sizeLimit === undefined ? undefined : parseLimit(emptyDir.sizeLimit);
    if (limit === undefined || limit.bytes <= 0) return [];
    return [{ volume: name, ...limit, isOnDisk: (emptyDir?.medium ?? '') === '' }];
  });
}

/** Whether the pod has to be looked after: it has volumes that only measuring keeps within their limits. */
export const hasSizeLimits = (pod: Pod): boolean => sizeLimits(pod).some(({ isOnDisk }) => isOnDisk);

/** Why the pod has to end, in upstream's words; undefined while it keeps to its limits.
 *  @param use a volume that was not measured counts as empty */
export function limitExceeded(pod: Pod, use: VolumeUse): string | undefined {
  const broken = sizeLimits(pod).find(({ volume, bytes }) => (use.get(volume) ?? 0) > bytes);
  if (broken === undefined) return undefined;
  return `Usage of EmptyDir volume ${JSON.stringify(broken.volume)} exceeds the limit ${JSON.stringify(broken.text)}. `;
}

/** Bytes that the pod's volumes may still grow by before one of them may be over its limit; `Infinity` for a pod
 *  without limits. */
export function headroom(pod: Pod, use: VolumeUse): number {
  const left = sizeLimits(pod)
    .filter(({ isOnDisk }) => isOnDisk)
    .map(({ volume, bytes }) => bytes - (use.get(volume) ?? 0));
  return Math.min(Number.POSITIVE_INFINITY, ...left);
}
