/** Resource amounts as numbers: thousandths of a CPU, bytes, units. Pure. */

import type { Container } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { addInt64 } from '#api/kit/int64.ts';
import { exactMilliValue, exactValue } from '#api/meta/quantity.ts';
import type { Amounts } from './model.ts';

type Quantities = Readonly<Record<string, string>>;

export const NOTHING: Amounts = { milliCpu: 0, memoryBytes: 0, ephemeralBytes: 0, scalars: new Map() };

/** Assumed usage of a container without requests. Source: upstream's non-zero requests. */
const LIKELY_MILLI_CPU = 100;
const LIKELY_MEMORY_BYTES = 200 * 1024 * 1024;

/** Extended resources, huge pages, attachments of volumes. */
const isScalar = (name: string): boolean =>
  name.includes('/') || name.startsWith('hugepages-') || name.startsWith('attachable-volumes-');

export function readAmounts(quantities: Quantities = {}): Amounts {
  const scalars = new Map<string, Int64>();
  for (const name of Object.keys(quantities)) {
    if (isScalar(name)) scalars.set(name, exactValue(quantities[name] ?? '0'));
  }
  return {
    milliCpu: exactMilliValue(quantities['cpu'] ?? '0'),
    memoryBytes: exactValue(quantities['memory'] ?? '0'),
    ephemeralBytes: exactValue(quantities['ephemeral-storage'] ?? '0'),
    scalars,
  };
}

function combine(a: Amounts, b: Amounts, pick: (left: Int64, right: Int64) => Int64): Amounts {
  const scalars = new Map(a.scalars);
  for (const [name, amount] of b.scalars) scalars.set(name, pick(scalars.get(name) ?? 0, amount));
  return {
    milliCpu: pick(a.milliCpu, b.milliCpu),
    memoryBytes: pick(a.memoryBytes, b.memoryBytes),
    ephemeralBytes: pick(a.ephemeralBytes, b.ephemeralBytes),
    scalars,
  };
}

const greater = (left: Int64, right: Int64): Int64 => (left < right ? right : left);

const requestsOf = ({ resources }: Container): Amounts => readAmounts(resources?.requests);

function likely({ resources }: Container): Amounts {
  const { requests = {} } = resources ?? {};
  const { milliCpu, memoryBytes } = readAmounts(requests);
  return {
    ...NOTHING,
    milliCpu: requests['cpu'] === undefined ? LIKELY_MILLI_CPU : milliCpu,
    memoryBytes: requests['memory'] === undefined ? LIKELY_MEMORY_BYTES : memoryBytes,
  };
}

interface PodResources {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly overhead?: Quantities;
}

/** Containers run side by side, init containers one after the other before them. */
function sum(spec: PodResources, read: (container: Container) => Amounts): Amounts {
  const together = spec.containers.map(read).reduce((a, b) => combine(a, b, addInt64), NOTHING);
  const most = (spec.initContainers ?? []).map(read).reduce((a, b) => combine(a, b, greater), together);
  return spec.overhead === undefined ? most : combine(most, readAmounts(spec.overhead), addInt64);
}

/** Resource requests of a pod. Source: upstream's pod requests, release 1.24. */
export const podRequests = (spec: PodResources): Amounts => sum(spec, requestsOf);

/** CPU and memory that a pod is likely to use; for scores only. */
export const likelyUse = (spec: PodResources): Amounts => sum(spec, likely);
