/** Limits the number of managers of an object. Pure. Source: upstream's cap of update managers. */
import { union } from './field-set.ts';
import { compareText, isSameManager, type Owner, secondsOf } from './owners.ts';

/** Maximum number of update managers per object. */
const MAX_UPDATE_MANAGERS = 10;
/** The manager that the oldest ones are merged into. */
const ANCIENT_MANAGER = 'ancient-changes';

/** Beyond ten update managers, merges the oldest into one per API version. The only old manager of a version
 *  keeps its name. */
export function capOwners(owners: readonly Owner[], most: number = MAX_UPDATE_MANAGERS): readonly Owner[] {
  const updaters = owners.filter(({ operation }) => operation === 'Update');
  if (updaters.length <= most) return owners;
  updaters.sort((a, b) => (secondsOf(a.time) ?? 0) - (secondsOf(b.time) ?? 0) || compareUpdaters(a, b));
  const firsts = new Map<string, Owner>();
  let rest = owners;
  let surplus = updaters.length - most;
  for (const updater of updaters) {
    if (surplus <= 0) break;
    const first = firsts.get(updater.apiVersion);
    const merged = first === undefined ? updater : mergeOldest(first, updater);
    firsts.set(updater.apiVersion, merged);
    if (first === undefined) continue;
    rest = replaceOwners(rest, first, updater, merged);
    surplus -= 1;
  }
  return rest;
}

function replaceOwners(
  owners: readonly Owner[],
  first: Owner,
  second: Owner,
  merged: Owner,
): readonly Owner[] {
  const others = owners.filter((owner) => owner !== first && owner !== second);
  const known = others.find((owner) => isSameManager(owner, merged));
  if (known === undefined) return [...others, merged];
  const both = { ...merged, set: union(known.set, merged.set) };
  return others.map((owner) => (owner === known ? both : owner));
}

const compareUpdaters = (a: Owner, b: Owner): number =>
  compareText(a.manager, b.manager) ||
  compareText(a.apiVersion, b.apiVersion) ||
  compareText(a.subresource, b.subresource);

/** Merges the older and the newer into one with the newer's time. */
function mergeOldest(older: Owner, newer: Owner): Owner {
  return {
    manager: ANCIENT_MANAGER,
    operation: 'Update',
    apiVersion: older.apiVersion,
    subresource: '',
    time: newer.time,
    set: union(older.set, newer.set),
    entry: undefined,
  };
}
