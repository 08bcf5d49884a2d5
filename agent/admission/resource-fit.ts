/** Resource check of a pod beside the others of the node, and selection of preemption victims. Pure.
 *  Source: upstream 1.24, resource fit and preemption on the node. */

import type { Container, Pod } from '#api/gen/core-v1.ts';
import { addInt64, type Int64, maxInt64 } from '#api/kit/int64.ts';
import { exactMilliValue, exactValue } from '#api/meta/quantity.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import type { Refusal } from './admit.ts';

/** Exact, by resource name: millicores of CPU, base units of everything else. */
export type Amounts = Readonly<Record<string, Int64>>;

const amountOf = (resource: string, quantity: string): Int64 =>
  resource === 'cpu' ? exactMilliValue(quantity) : exactValue(quantity);

export function parseAmounts(list: Readonly<Record<string, string>>): Amounts {
  return Object.fromEntries(
    Object.entries(list).map(([resource, quantity]) => [resource, amountOf(resource, quantity)]),
  );
}

function combine(a: Amounts, b: Amounts, by: (x: Int64, y: Int64) => Int64): Amounts {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, by(a[name] ?? 0, b[name] ?? 0)]));
}

const sum = (all: readonly Amounts[]): Amounts =>
  all.reduce<Amounts>((total, one) => combine(total, one, addInt64), {});

const requestsOf = ({ resources }: Container): Amounts => parseAmounts(resources?.requests ?? {});

/** Returns the maximum requests of the pod at any time: the sum of its containers, or one init container plus
 *  the sidecars that run by then, if that is more; plus the overhead. */
export function podRequests({ spec }: Pod): Amounts {
  let sidecars: Amounts = {};
  let most: Amounts = {};
  for (const container of spec?.initContainers ?? []) {
    const now = combine(sidecars, requestsOf(container), addInt64);
    most = combine(most, now, maxInt64);
    if (container.restartPolicy === 'Always') sidecars = now;
  }
  const running = sum([sidecars, ...(spec?.containers ?? []).map(requestsOf)]);
  return sum([combine(most, running, maxInt64), parseAmounts(spec?.overhead ?? {})]);
}

/** An insufficient resource; amounts as in `Amounts`. */
export interface Shortage {
  readonly resource: string;
  readonly requested: Int64;
  readonly used: Int64;
  readonly capacity: Int64;
}

/** Extended resources, which are ignored when the node lacks them: others manage them, such as licenses.
 *  Source: upstream, 1.24. */
const isForeign = (resource: string): boolean => resource.includes('/');

function shortages(pod: Pod, others: readonly Pod[], allocatable: Amounts): readonly Shortage[] {
  const counted = (one: Pod): Amounts => ({ ...podRequests(one), pods: 1 });
  const used = sum(others.map(counted));
  // The number of pods is only limited by a node status that contains its maximum.
  const asked = 'pods' in allocatable ? counted(pod) : podRequests(pod);
  return Object.entries(asked)
    .map(([resource, requested]) => ({
      resource,
      requested,
      used: used[resource] ?? 0,
      capacity: allocatable[resource] ?? 0,
    }))
    .filter(({ resource }) => resource in allocatable || !isForeign(resource))
    .filter((one) => one.requested > 0 && addInt64(one.requested, one.used) > one.capacity);
}

/** Returns the first insufficient resource: pod count, then CPU, then memory; undefined when all suffice.
 *  @param others pods of the node that have not terminated */
export function firstShortage(pod: Pod, others: readonly Pod[], allocatable: Amounts): Shortage | undefined {
  const order = ['pods', 'cpu', 'memory', 'ephemeral-storage'];
  const rank = ({ resource }: Shortage): number =>
    order.includes(resource) ? order.indexOf(resource) : order.length;
  return shortages(pod, others, allocatable).toSorted((a, b) => rank(a) - rank(b))[0];
}

export const shortageRefusal = ({ resource, requested, used, capacity }: Shortage): Refusal => ({
  reason: `OutOf${resource}`,
  message: `Pod was rejected: the node has insufficient ${resource}: requested ${requested}, used ${used}, capacity ${capacity}`,
});

/** Minimum priority of system-critical pods. */
const CRITICAL_PRIORITY = 2_000_000_000;
const QOS_ORDER = ['BestEffort', 'Burstable', 'Guaranteed'];

/** Priority classes that exist without a server. */
const SYSTEM_CLASSES: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
]);

/** A pod from a manifest has only the class name: no admission has set its priority. */
export const priorityOf = ({ spec }: Pod): number =>
  spec?.priority ?? SYSTEM_CLASSES.get(spec?.priorityClassName ?? '') ?? 0;

/** Reports whether the pod may preempt others. */
export const isCritical = (pod: Pod): boolean => priorityOf(pod) >= CRITICAL_PRIORITY;

/** Reports whether the one pod may preempt the other. */
const matters = (critical: Pod, other: Pod): boolean =>
  !isCritical(other) || priorityOf(critical) > priorityOf(other);

/** Returns the minimal set of pods to preempt so that the pod fits, the least important first; undefined when
 *  even all candidates would not suffice.
 *  @param isProtected reports whether a pod is never preempted, such as a static one */
export function victimsFor(
  pod: Pod,
  others: readonly Pod[],
  allocatable: Amounts,
  isProtected: (other: Pod) => boolean,
): readonly Pod[] | undefined {
  const candidates = others
    .filter((other) => !isProtected(other) && matters(pod, other))
    .toSorted(
      (a, b) =>
        priorityOf(a) - priorityOf(b) || QOS_ORDER.indexOf(qosClass(a)) - QOS_ORDER.indexOf(qosClass(b)),
    );
  const fitsWithout = (gone: ReadonlySet<Pod>): boolean =>
    shortages(
      pod,
      others.filter((other) => !gone.has(other)),
      allocatable,
    ).length === 0;
  const gone = new Set<Pod>();
  for (const candidate of candidates) {
    if (fitsWithout(gone)) break;
    gone.add(candidate);
  }
  if (!fitsWithout(gone)) return undefined;
  // The most important ones are reprieved first.
  for (const candidate of [...gone].toReversed()) {
    gone.delete(candidate);
    if (!fitsWithout(gone)) gone.add(candidate);
  }
  return candidates.filter((candidate) => gone.has(candidate));
}
