/** Index of objects by their labels, so that a selector is evaluated without a scan of all objects. */
import { matchesLabels, type Requirement } from '#api/meta/selectors.ts';
import type { CachedObject } from '../../cache/contract.ts';

type Labelled = Pick<CachedObject, 'key' | 'namespace' | 'labels'>;

export interface LabelIndex<L extends Labelled> {
  get(key: string): L | undefined;
  /** The key must not exist. */
  add(object: L): void;
  remove(object: L): void;
  /** Objects in the namespace that match all requirements; none for an empty selector. */
  matching(namespace: string, requirements: readonly Requirement[]): readonly L[];
}

const EMPTY: ReadonlySet<never> = new Set();

/** No label has a line feed. */
const placeOf = (namespace: string, label: string, value: string): string =>
  `${namespace}\n${label}\n${value}`;

export function createLabelIndex<L extends Labelled = CachedObject>(): LabelIndex<L> {
  const byKey = new Map<string, L>();
  const byNamespace = new Map<string, Set<L>>();
  const byLabel = new Map<string, Set<L>>();

  function put(sets: Map<string, Set<L>>, place: string, object: L): void {
    const set = sets.get(place);
    if (set === undefined) sets.set(place, new Set([object]));
    else set.add(object);
  }

  function take(sets: Map<string, Set<L>>, place: string, object: L): void {
    const set = sets.get(place);
    set?.delete(object);
    if (set?.size === 0) sets.delete(place);
  }

  /** The smallest candidate set that contains all matches. */
  function candidates(namespace: string, requirements: readonly Requirement[]): ReadonlySet<L> {
    let fewest: ReadonlySet<L> = byNamespace.get(namespace) ?? EMPTY;
    for (const { key, operator, values } of requirements) {
      const [value] = values;
      if (operator !== 'in' || values.length !== 1 || value === undefined) continue;
      const set = byLabel.get(placeOf(namespace, key, value)) ?? EMPTY;
      if (set.size < fewest.size) fewest = set;
    }
    return fewest;
  }

  return {
    get: (key) => byKey.get(key),
    add(object) {
      const { key, namespace, labels } = object;
      byKey.set(key, object);
      put(byNamespace, namespace, object);
      for (const [label, value] of Object.entries(labels)) {
        put(byLabel, placeOf(namespace, label, value), object);
      }
    },
    remove(object) {
      const { key, namespace, labels } = object;
      byKey.delete(key);
      take(byNamespace, namespace, object);
      for (const [label, value] of Object.entries(labels)) {
        take(byLabel, placeOf(namespace, label, value), object);
      }
    },
    matching(namespace, requirements) {
      if (requirements.length === 0) return [];
      return [...candidates(namespace, requirements)].filter(({ labels }) =>
        matchesLabels(requirements, labels),
      );
    },
  };
}
