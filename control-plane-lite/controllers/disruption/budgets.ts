/** Index of the disruption budgets and the pods that each of them covers. */

import type { PodDisruptionBudget } from '#api/gen/policy-v1.ts';
import { matchesLabels, type Requirement, selectorRequirements } from '#api/meta/selectors.ts';
import type { CachedObject, ResourceCache, WatchHandle } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import type { Children } from '../workloads-kit/children.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';

export interface Budget {
  readonly cached: CachedObject;
  /** Absent: it covers nothing. Empty: everything in its namespace. */
  readonly requirements?: readonly Requirement[];
}

export interface Budgets extends WatchHandle {
  get(key: string): Budget | undefined;
  podsOf(budget: Budget): readonly PodFacts[];
}

export interface BudgetsOptions {
  readonly onBudget: (key: string) => void;
  /** A pod that the budget covers, or covered before, has changed. */
  readonly onPod: (key: string) => void;
}

/** A map of maps. */
function createGroups<V>(): {
  of(group: string): ReadonlyMap<string, V>;
  set(group: string, key: string, value: V): void;
  delete(group: string, key: string): void;
} {
  const groups = new Map<string, Map<string, V>>();
  const none = new Map<string, V>();
  return {
    of: (group) => groups.get(group) ?? none,
    set(group, key, value) {
      const members = groups.get(group);
      if (members === undefined) groups.set(group, new Map([[key, value]]));
      else members.set(key, value);
    },
    delete(group, key) {
      const members = groups.get(group);
      members?.delete(key);
      if (members?.size === 0) groups.delete(group);
    },
  };
}

const covers = ({ requirements }: Budget, { labels }: PodFacts): boolean =>
  requirements !== undefined && matchesLabels(requirements, labels);

function readBudget(cached: CachedObject): Budget {
  const { selector } = typed<PodDisruptionBudget>(cached.object()).spec ?? {};
  return selector === undefined ? { cached } : { cached, requirements: selectorRequirements(selector) };
}

export function followBudgets(
  cache: Pick<ResourceCache, 'follow'>,
  children: Pick<Children<PodFacts>, 'all' | 'onChange'>,
  { onBudget, onPod }: BudgetsOptions,
): Budgets {
  const budgets = createGroups<Budget>();
  const byKey = new Map<string, Budget>();
  const pods = createGroups<PodFacts>();
  for (const pod of children.all()) pods.set(pod.namespace, pod.key, pod);

  const following = [
    children.onChange(({ previous, current }) => {
      const pod = current ?? previous;
      if (pod === undefined) return;
      if (current === undefined) pods.delete(pod.namespace, pod.key);
      else pods.set(pod.namespace, pod.key, current);
      for (const [key, budget] of budgets.of(pod.namespace)) {
        if (covers(budget, pod) || (previous !== undefined && covers(budget, previous))) onPod(key);
      }
    }),
    cache.follow(({ type, current }) => {
      const { key, namespace } = current;
      if (type === 'DELETED') {
        byKey.delete(key);
        budgets.delete(namespace, key);
        return;
      }
      const budget = readBudget(current);
      byKey.set(key, budget);
      budgets.set(namespace, key, budget);
      onBudget(key);
    }),
  ];

  return {
    get: (key) => byKey.get(key),
    podsOf: (budget) => [...pods.of(budget.cached.namespace).values()].filter((pod) => covers(budget, pod)),
    close() {
      for (const each of following) each.close();
    },
  };
}
