/** What pods may use of the node's disk by their own word, against what they use: size limits of their emptyDir volumes,
 *  ephemeral-storage limits of their containers, and the sum of those for the pod. Pure.
 *  Source: document 3, 2.3; upstream's eviction manager (`localStorageEviction`), release 1.24. */
import {
  addQuantities,
  canonicalizeQuantity,
  compareQuantities,
  formatQuantity,
  type Quantity,
  value,
} from '#api/meta/quantity.ts';
import type { Container, Pod, Volume } from '#api/schema/gen/core-v1.ts';

/** What a container takes, in bytes, as far as it was measured. */
export interface ContainerUse {
  /** Absent also where layers have a file system of their own, on which nothing is limited. */
  readonly layerBytes?: number;
  readonly logBytes?: number;
}

/** What a pod takes, as far as it was measured. */
export interface PodUse {
  /** Bytes by volume. */
  readonly volumes: ReadonlyMap<string, number>;
  /** By container. */
  readonly containers: ReadonlyMap<string, ContainerUse>;
  /** What layers of all containers take, wherever they lie. */
  readonly layersBytes: number;
  /** Of files that the agent makes for the pod, such as `/etc/hosts`. */
  readonly filesBytes: number;
}

export const NO_USE: PodUse = {
  volumes: new Map(),
  containers: new Map(),
  layersBytes: 0,
  filesBytes: 0,
};

const RESOURCE = 'ephemeral-storage';

/** What is limited, in upstream's words. */
export type LimitSignal = 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';

/** One thing that may take no more than so much. */
interface Limit {
  readonly signal: LimitSignal;
  readonly bytes: number;
  readonly usedBytes: number;
  /** In upstream's words. */
  readonly message: string;
  /** Nothing else keeps it from growing beyond it. */
  readonly isOnDisk: boolean;
}

/** A limit that is no quantity keeps its pod from starting, and is nothing to look after. */
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

/** Of containers that run side by side, and of the greediest of those before them. */
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

/** Whether what it holds lies on the node's disk and ends with the pod. */
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

/** In the order in which upstream looks. */
const limitsOf = (pod: Pod, use: PodUse): readonly Limit[] => [
  ...volumeLimits(pod, use),
  ...podLimits(pod, use),
  ...containerLimits(pod, use),
];

/** Whether a container of the pod has a limit of its own: then layers and logs count. */
export const hasContainerLimits = (pod: Pod): boolean => podLimit(pod) !== undefined;

/** Whether the pod has to be looked after: something of it is kept within its limit by measuring alone. */
export const hasLimits = (pod: Pod): boolean => limitsOf(pod, NO_USE).some(({ isOnDisk }) => isOnDisk);

/** The limit that the pod does not keep to, if any.
 *  @param use what was not measured counts as nothing */
export const brokenLimit = (pod: Pod, use: PodUse): Pick<Limit, 'signal' | 'message'> | undefined =>
  limitsOf(pod, use).find(({ bytes, usedBytes }) => usedBytes > bytes);

/** Why the pod has to end, in upstream's words; undefined while it keeps to its limits.
 *  @param use what was not measured counts as nothing */
export const limitExceeded = (pod: Pod, use: PodUse): string | undefined => brokenLimit(pod, use)?.message;

/** Bytes that the pod may still take before one of its limits may be broken; `Infinity` for a pod without limits. */
export function headroom(pod: Pod, use: PodUse): number {
  const left = limitsOf(pod, use)
    .filter(({ isOnDisk }) => isOnDisk)
    .map(({ bytes, usedBytes }) => bytes - usedBytes);
  return Math.min(Number.POSITIVE_INFINITY, ...left);
}
