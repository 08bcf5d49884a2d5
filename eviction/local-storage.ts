/** Limits of local storage and their comparison with usage: size limits of emptyDir volumes,
 *  ephemeral-storage limits of containers, and their sum for the pod. Pure.
 *  Source: local storage limits, document 3 §2.3; upstream's eviction manager (`localStorageEviction`),
 *  release 1.24. */

import type { Container, Pod, Volume } from '#api/gen/core-v1.ts';
import {
  addQuantities,
  canonicalizeQuantity,
  compareQuantities,
  formatQuantity,
  type Quantity,
  value,
} from '#api/meta/quantity.ts';

/** Measured usage of a container, in bytes. */
export interface ContainerUse {
  /** Absent also if layers have their own file system, which is not limited. */
  readonly layerBytes?: number;
  readonly logBytes?: number;
}

/** Measured usage of a pod. */
export interface PodUse {
  /** Bytes by volume. */
  readonly volumes: ReadonlyMap<string, number>;
  /** By container. */
  readonly containers: ReadonlyMap<string, ContainerUse>;
  /** Total size of the layers of all containers, on any file system. */
  readonly layersBytes: number;
  /** Size of files that the agent creates for the pod, such as `/etc/hosts`. */
  readonly filesBytes: number;
}

export const NO_USE: PodUse = {
  volumes: new Map(),
  containers: new Map(),
  layersBytes: 0,
  filesBytes: 0,
};

const RESOURCE = 'ephemeral-storage';

/** Subject of a limit, in upstream's message. */
export type LimitSignal = 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';

/** A single limit. */
interface Limit {
  readonly signal: LimitSignal;
  readonly bytes: number;
  readonly usedBytes: number;
  /** Upstream's message. */
  readonly message: string;
  /** Enforced by measuring only: nothing else prevents exceeding it. */
  readonly isOnDisk: boolean;
}

/** An invalid quantity prevents the start of its pod, and needs no enforcement. */
function parseLimit(text: string): { readonly text: string; readonly bytes: number } | undefined {
  try {
    return { text: canonicalizeQuantity(text), bytes: value(text) };
  } catch {
    return undefined;
  }
}

function volumeLimits({ spec }: Pod, use: PodUse): readonly Limit[] {
  return (spec?.volumes ?? []).flatMap(({ name, emptyDir }) => {
    const limit = emptyDir?.sizeLimit === undefined ? undefined : parseLimit(emptyDir.sizeLimit);
    if (limit === undefined || limit.bytes <= 0) return [];
    return [
      {
        signal: 'emptydirfs.limit',
        bytes: limit.bytes,
        usedBytes: use.volumes.get(name) ?? 0,
        isOnDisk: (emptyDir?.medium ?? '') === '',
        message: `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit ${JSON.stringify(limit.text)}. `,
      },
    ];
  });
}

const limitOf = ({ resources }: Container): string | number | undefined => resources?.limits?.[RESOURCE];

/** Sum of all containers, or the largest init container if that is more. */
function podLimit({ spec }: Pod): Quantity | undefined {
  let sum: Quantity | undefined;
  for (const limit of (spec?.containers ?? []).map(limitOf)) {
    if (limit !== undefined) sum = addQuantities(sum ?? '0', limit);
  }
  for (const limit of (spec?.initContainers ?? []).map(limitOf)) {
    if (limit === undefined) continue;
    if (sum === undefined || compareQuantities(limit, sum) > 0) sum = addQuantities('0', limit);
  }
  const overhead = spec?.overhead?.[RESOURCE];
  return sum === undefined || overhead === undefined ? sum : addQuantities(sum, overhead);
}

/** Reports whether a volume uses the disk of the node and is deleted with the pod. */
const isLocal = ({ gitRepo, emptyDir, configMap }: Volume): boolean =>
  gitRepo !== undefined ||
  configMap !== undefined ||
  (emptyDir !== undefined && (emptyDir.medium ?? '') === '');

function usedByPod({ spec }: Pod, use: PodUse): number {
  const logs = [...use.containers.values()].reduce((sum, { logBytes = 0 }) => sum + logBytes, 0);
  const volumes = (spec?.volumes ?? [])
    .filter(isLocal)
    .reduce((sum, { name }) => sum + (use.volumes.get(name) ?? 0), 0);
  return logs + volumes + use.layersBytes + use.filesBytes;
}

function podLimits(pod: Pod, use: PodUse): readonly Limit[] {
  const limit = podLimit(pod);
  if (limit === undefined) return [];
  const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `;
  const usedBytes = usedByPod(pod, use);
  return [{ signal: 'ephemeralpodfs.limit', bytes: value(limit), usedBytes, message, isOnDisk: true }];
}

function containerLimits({ spec }: Pod, use: PodUse): readonly Limit[] {
  return (spec?.containers ?? []).flatMap((container) => {
    const limit = parseLimit(String(limitOf(container) ?? ''));
    if (limit === undefined) return [];
    const { layerBytes = 0, logBytes = 0 } = use.containers.get(container.name) ?? {};
    return [
      {
        signal: 'ephemeralcontainerfs.limit',
        bytes: limit.bytes,
        usedBytes: layerBytes + logBytes,
        isOnDisk: true,
        message: `Container ${container.name} exceeded its local ephemeral storage limit ${JSON.stringify(limit.text)}. `,
      },
    ];
  });
}

/** In upstream's order of checks. */
const limitsOf = (pod: Pod, use: PodUse): readonly Limit[] => [
  ...volumeLimits(pod, use),
  ...podLimits(pod, use),
  ...containerLimits(pod, use),
];

/** Reports whether a container of the pod has a limit: then layers and logs count. */
export const hasContainerLimits = (pod: Pod): boolean => podLimit(pod) !== undefined;

/** Reports whether the pod has a limit that is enforced by measuring only. */
export const hasLimits = (pod: Pod): boolean => limitsOf(pod, NO_USE).some(({ isOnDisk }) => isOnDisk);

/** Returns the exceeded limit of the pod, if any.
 *  @param use unknown usage counts as zero */
export const brokenLimit = (pod: Pod, use: PodUse): Pick<Limit, 'signal' | 'message'> | undefined =>
  limitsOf(pod, use).find(({ bytes, usedBytes }) => usedBytes > bytes);

/** Returns upstream's eviction message; undefined while the pod is within its limits.
 *  @param use unknown usage counts as zero */
export const limitExceeded = (pod: Pod, use: PodUse): string | undefined => brokenLimit(pod, use)?.message;

/** Returns the bytes that the pod can use before it may exceed a limit; `Infinity` without limits. */
export function headroom(pod: Pod, use: PodUse): number {
  const left = limitsOf(pod, use)
    .filter(({ isOnDisk }) => isOnDisk)
    .map(({ bytes, usedBytes }) => bytes - usedBytes);
  return Math.min(Number.POSITIVE_INFINITY, ...left);
}
