/** Quota usage and scopes of a pod. Pure. Source: upstream's pod evaluator, release 1.24. */

import type { Container, Pod, PodAffinityTerm, ResourceQuotaSpec } from '#api/gen/core-v1.ts';
import { secondsInMs } from '#api/kit/int64.ts';
import type { Quantity } from '#api/meta/quantity.ts';
import { parseTime } from '#api/meta/time.ts';
import { type Amounts, addAmounts, countOf, largestAmounts, NONE, readAmounts } from './amounts.ts';

const STANDARD: readonly string[] = ['cpu', 'memory', 'ephemeral-storage'];
const HUGE_PAGES = 'hugepages-';

/** Containers run in parallel, init containers one after the other before them. */
function sumOf({ spec }: Pod, part: 'requests' | 'limits'): Amounts {
  const read = ({ resources }: Container): Amounts => readAmounts(resources?.[part]);
  const together = (spec?.containers ?? []).map(read).reduce(addAmounts, new Map());
  const most = (spec?.initContainers ?? []).map(read).reduce(largestAmounts, together);
  const overhead = readAmounts(spec?.overhead);
  if (part === 'requests') return addAmounts(most, overhead);
  // Overhead adds no limit to a pod that has none.
  return addAmounts(most, new Map([...overhead].filter(([name]) => (most.get(name) ?? NONE).nanos > 0n)));
}

/** Reports whether the pod still uses resources: it runs, or may run. */
export function isCounted({ metadata = {}, status }: Pod, nowMs: number): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  // Its agent has not responded in time: its resources are free for others.
  return nowMs <= parseTime(deletionTimestamp) + secondsInMs(deletionGracePeriodSeconds);
}

/** Returns the usage by quota resource name; without the object count of pods, which includes terminated
 *  ones. */
export function podUsage(pod: Pod, nowMs: number): Amounts {
  const usage = new Map<string, Quantity>();
  if (!isCounted(pod, nowMs)) return usage;
  usage.set('pods', countOf(1));
  for (const [name, amount] of sumOf(pod, 'requests')) {
    const plain = STANDARD.includes(name) || name.startsWith(HUGE_PAGES);
    if (plain) usage.set(name, amount);
    if (plain || name.includes('/')) usage.set(`requests.${name}`, amount);
  }
  for (const [name, amount] of sumOf(pod, 'limits')) {
    if (STANDARD.includes(name)) usage.set(`limits.${name}`, amount);
  }
  return usage;
}

/** Returns the containers that lack an amount required by a quota, as `cpu for: a,b`; empty: none. */
export function missingAmounts({ spec }: Pod, limited: { has(name: string): boolean }): readonly string[] {
  const needed = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'].filter(
    (name) => limited.has(name),
  );
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return needed.toSorted().flatMap((name) => {
    const part = name.startsWith('limits.') ? 'limits' : 'requests';
    const own = name.split('.').at(-1) ?? '';
    const without = containers.filter(({ resources }) => resources?.[part]?.[own] === undefined);
    return without.length === 0 ? [] : [`${name} for: ${without.map((each) => each.name).join(',')}`];
  });
}

const isBestEffort = (pod: Pod): boolean =>
  (['requests', 'limits'] as const).every((part) =>
    ['cpu', 'memory'].every((name) => (sumOf(pod, part).get(name) ?? NONE).nanos === 0n),
  );

const looksFurther = ({ namespaces = [], namespaceSelector }: PodAffinityTerm): boolean =>
  namespaces.length > 0 || namespaceSelector !== undefined;

function crossesNamespaces({ spec }: Pod): boolean {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  return [podAffinity, podAntiAffinity].some(
    (each) =>
      each?.requiredDuringSchedulingIgnoredDuringExecution?.some(looksFurther) === true ||
      each?.preferredDuringSchedulingIgnoredDuringExecution?.some(({ podAffinityTerm }) =>
        looksFurther(podAffinityTerm),
      ) === true,
  );
}

type Requirement = NonNullable<NonNullable<ResourceQuotaSpec['scopeSelector']>['matchExpressions']>[number];

function isOfPriority({ spec }: Pod, { operator, values = [] }: Omit<Requirement, 'scopeName'>): boolean {
  const name = spec?.priorityClassName ?? '';
  switch (operator) {
    case 'Exists':
      return name !== '';
    case 'DoesNotExist':
      return name === '';
    case 'In':
      return values.includes(name);
    case 'NotIn':
      return !values.includes(name);
    default:
      return operator satisfies never;
  }
}

function isInScope(pod: Pod, requirement: Requirement): boolean {
  switch (requirement.scopeName) {
    case 'Terminating':
      return pod.spec?.activeDeadlineSeconds !== undefined;
    case 'NotTerminating':
      return pod.spec?.activeDeadlineSeconds === undefined;
    case 'BestEffort':
      return isBestEffort(pod);
    case 'NotBestEffort':
      return !isBestEffort(pod);
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(pod);
    case 'PriorityClass':
      return isOfPriority(pod, requirement);
    default:
      return requirement.scopeName satisfies never;
  }
}

/** Returns the scopes of a quota, from either field. */
const scopesOf = ({ scopes = [], scopeSelector }: ResourceQuotaSpec): readonly Requirement[] => [
  ...scopes.map((scopeName) => ({ scopeName, operator: 'Exists' as const })),
  ...(scopeSelector?.matchExpressions ?? []),
];

/** Reports whether the object matches the scopes. Only pods have scopes: a quota with scopes counts nothing
 *  else. `pod` absent: another kind. */
export const isInScopes = (spec: ResourceQuotaSpec, pod: Pod | undefined): boolean =>
  scopesOf(spec).every((scope) => pod !== undefined && isInScope(pod, scope));
