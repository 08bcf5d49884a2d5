/** Queues owners when one of their objects changes: by the controller reference of a child, or by selector
 *  for an orphan. */
import type { WatchHandle } from '../../cache/contract.ts';
import type { Child, ChildChange, Children } from './children.ts';
import type { Owners } from './owners.ts';

const sameLabels = (left: Child, right: Child): boolean => {
  const names = Object.keys(left.labels);
  return (
    names.length === Object.keys(right.labels).length &&
    names.every((name) => left.labels[name] === right.labels[name])
  );
};

/** Keys of the owners that a change affects. */
function concernedOwners<C extends Child>(
  owners: Pick<Owners, 'byReference' | 'matching'>,
  { previous, current }: ChildChange<C>,
): readonly string[] {
  const keys = new Set<string>();
  for (const child of [previous, current]) {
    const owner = owners.byReference(child?.owner);
    if (owner !== undefined) keys.add(owner.key);
  }
  // Potential adopters of an orphan: when it becomes one, and when its labels change.
  const adoptable =
    current !== undefined &&
    current.owner === undefined &&
    !current.deleting &&
    (previous?.owner !== undefined || previous === undefined || !sameLabels(previous, current));
  if (adoptable) {
    for (const { key } of owners.matching(current.namespace, current.labels)) keys.add(key);
  }
  return [...keys];
}

export const followChildren = <C extends Child>(
  children: Children<C>,
  owners: Pick<Owners, 'byReference' | 'matching'>,
  due: (key: string) => void,
): WatchHandle => children.onChange((change) => concernedOwners(owners, change).forEach(due));
