/** Index of watches by the values they select: finds those that a change may affect without testing each. Of
 *  a thousand watches on the pods of one node each, a change of a pod affects one or two. */
import type { CacheChange, CachedObject } from '../contract.ts';
import type { NamedSelection } from '../state/selection.ts';

/** A property that all objects of a selection share: a field with a value, or the key. */
interface Lane {
  /** Absent: the key. */
  readonly field: string | undefined;
  readonly value: string;
}

export interface WatchLanes<T> {
  add(selection: NamedSelection, member: T): void;
  remove(selection: NamedSelection, member: T): void;
  /** Returns the watches that any of the changes may affect, each with these changes, in order. */
  sort(changes: readonly CacheChange[]): Map<T, readonly CacheChange[]>;
}

function laneOf({ namespace = '', name, fields }: NamedSelection): Lane | undefined {
  if (name !== undefined) {
    return { field: undefined, value: namespace === '' ? name : `${namespace}/${name}` };
  }
  const first = fields.find(({ equal }) => equal);
  return first && { field: first.field, value: first.value };
}

const valueOf = (field: string | undefined, { key, fields }: CachedObject): string =>
  field === undefined ? key : (fields[field] ?? '');

export function createWatchLanes<T>(): WatchLanes<T> {
  /** Watches that any change may affect. */
  const everywhere = new Set<T>();
  const lanes = new Map<string | undefined, Map<string, Set<T>>>();

  function collect(change: CacheChange, found: Map<T, CacheChange[]>): void {
    for (const [field, members] of lanes) {
      const now = valueOf(field, change.current);
      const before = change.previous === undefined ? now : valueOf(field, change.previous);
      for (const value of now === before ? [now] : [now, before]) {
        for (const member of members.get(value) ?? []) {
          const own = found.get(member);
          if (own === undefined) found.set(member, [change]);
          else own.push(change);
        }
      }
    }
  }

  return {
    add(selection, member) {
      const lane = laneOf(selection);
      if (lane === undefined) {
        everywhere.add(member);
        return;
      }
      const values = lanes.get(lane.field) ?? new Map<string, Set<T>>();
      lanes.set(lane.field, values);
      const members = values.get(lane.value) ?? new Set<T>();
      values.set(lane.value, members.add(member));
    },
    remove(selection, member) {
      const lane = laneOf(selection);
      if (lane === undefined) {
        everywhere.delete(member);
        return;
      }
      const values = lanes.get(lane.field);
      const members = values?.get(lane.value);
      members?.delete(member);
      if (members?.size === 0) values?.delete(lane.value);
      if (values?.size === 0) lanes.delete(lane.field);
    },
    sort(changes) {
      const found = new Map<T, CacheChange[]>();
      for (const change of changes) collect(change, found);
      const sorted = new Map<T, readonly CacheChange[]>(found);
      if (changes.length > 0) for (const member of everywhere) sorted.set(member, changes);
      return sorted;
    },
  };
}
