/** What a pod uses of a quota, and which scopes it is in. Pure. Source: upstream's pod evaluator, release 1.24. */
import type { Quantity } from '#api/meta/quantity.ts';
import { parseTime } from '#api/meta/time.ts';
import type { Container, Pod, PodAffinityTerm, ResourceQuotaSpec } from '#api/schema/gen/core-v1.ts';
import { type Amounts, addAmounts, countOf, largestAmounts, NONE, readAmounts } from './amounts.ts';

const STANDARD: readonly string[] = ['cpu', 'memory', 'ephemeral-storage'];
const HUGE_PAGES = 'hugepages-';

/** Containers run side by side, init containers one after the other before them. */
function sumOf({ spec }: Pod, part: 'requests' | 'limits'): Amounts {
  const read = ({ resources }: Container): Amounts => readAmounts(resources?.[part]);
  const together = (spec?.containers ?? []).map(read).reduce(addAmounts, new Map());
  const most = (spec?.initContainers ?? []).map(read).reduce(largestAmounts, together);
  const overhead = readAmounts(spec?.overhead);
  if (part === 'requests') return addAmounts(most, overhead);
  // What has no limit gets none by what it costs beside.
  return addAmounts(most, new Map([...overhead].filter(([name]) => (most.get(name) ?? NONE).nanos > 0n)));
}

/** Whether it still takes room: it runs, or may. */
export function isCounted({ metadata = {}, status }: Pod, nowMs: number): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  // Its agent has not answered in time: what it had is free for others.
  return nowMs <= parseTime(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

/** By the names that quotas have for them; without the count of all pods, which ended ones are in too. */
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

/** Containers that don't say what a quota needs to know, as `cpu for: a,b`; empty: none. */
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

/** The scopes of a quota, however they are given. */
const scopesOf = ({ scopes = [], scopeSelector }: ResourceQuotaSpec): readonly Requirement[] => [
  ...scopes.map((scopeName) => ({ scopeName, operator: 'Exists' as const })),
  ...(scopeSelector?.matchExpressions ?? []),
];

/** Only pods are in scopes: nothing else counts for a quota that has any. `pod` absent: it is something else. */
export const isInScopes = (spec: ResourceQuotaSpec, pod: Pod | undefined): boolean =>
  scopesOf(spec).every((scope) => pod !== undefined && isInScope(pod, scope));
