/** Derives the changes missed while the store was not followed: the difference of two states, as events that
 *  could have led from one to the other. Pure. */
import type { StoredItem, StoreEvent } from '../../store/contract.ts';

export interface Difference {
  /** The revision of the known state. */
  readonly from: number;
  /** The revision of the new state. */
  readonly to: number;
  /** New or changed objects, at their current state. */
  readonly changed: readonly StoredItem[];
  /** Keys among the changed ones whose object was recreated. */
  readonly recreated: ReadonlySet<string>;
  /** Keys that no longer exist. */
  readonly gone: readonly string[];
}

/** Returns the revisions in (from, to] that no surviving write has, ascending. Each deletion had one of
 *  them. */
function* freeRevisions({ from, to, changed }: Difference): Generator<number, undefined> {
  const taken = new Set(changed.map(({ revision }) => revision));
  for (let revision = from + 1; revision <= to; revision += 1) if (!taken.has(revision)) yield revision;
}

/** Returns the events, in order and each with a revision of its own, so that a client that saw only some of
 *  them can't assume that it has seen all. The true revision of a deletion is unknown; it gets the first free
 *  one, which for a recreated object precedes its creation. `undefined` if no order of events explains the
 *  difference: the store has been replaced. */
export function eventsOf(difference: Difference): readonly StoreEvent[] | undefined {
  const { from, to, recreated, gone } = difference;
  if (to < from) return undefined;
  const free = freeRevisions(difference);
  const events: StoreEvent[] = [];
  for (const item of difference.changed.toSorted((a, b) => a.revision - b.revision)) {
    if (item.revision <= from || item.revision > to) return undefined;
    if (recreated.has(item.key)) {
      const { value: revision } = free.next();
      if (revision === undefined || revision >= item.revision) return undefined;
      events.push({ type: 'delete', key: item.key, revision });
    }
    events.push({ type: 'put', ...item });
  }
  for (const key of gone) {
    const { value: revision } = free.next();
    if (revision === undefined) return undefined;
    events.push({ type: 'delete', key, revision });
  }
  return events.sort((a, b) => a.revision - b.revision);
}
