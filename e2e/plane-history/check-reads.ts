/** Check of reads: every get and list returns an existing state, not older than any state seen before its
 *  start. */
import { type Get, isSelected, type Key, type Listing, textOf, type Version } from './history.ts';
import { possible, type Truth } from './truth.ts';

export const sameVersion = (a: Version | undefined, b: Version | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : a.key === b.key && a.revision === b.revision && a.uid === b.uid && textOf(a.value) === textOf(b.value);

const byKey = (a: Key, b: Key): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

export function checkGets(truth: Truth, gets: readonly Get[], errors: string[]): void {
  for (const { key, floor, endedMs, found } of gets) {
    const states = possible(truth, key, floor, truth.ceiling(endedMs));
    if (states.some((state) => sameVersion(state, found))) continue;
    const text = states.map((state) => state?.revision ?? 'nothing').join(', ');
    errors.push(`get ${key} from ${floor}: ${found?.revision ?? 'nothing'}, possible ${text}`);
  }
}

export function checkListings(truth: Truth, listings: readonly Listing[], errors: string[]): void {
  const state = new Map<Key, Version>();
  let next = 0;
  const revisionOf = ({ revisions }: Listing): number => revisions[0] ?? 0;
  for (const listing of listings.toSorted((a, b) => revisionOf(a) - revisionOf(b))) {
    const revision = revisionOf(listing);
    for (
      let change = truth.changes[next];
      change !== undefined && change.version.revision <= revision;
      change = truth.changes[next]
    ) {
      if (change.type === 'DELETED') state.delete(change.version.key);
      else state.set(change.version.key, change.version);
      next += 1;
    }
    checkListing(listing, revision, state, errors);
  }
}

function checkListing(
  { selection, floor, exact, revisions, items, remaining }: Listing,
  revision: number,
  state: ReadonlyMap<Key, Version>,
  errors: string[],
): void {
  const where = `list ${JSON.stringify(selection)}@${revision}`;
  if (revisions.some((each) => each !== revision)) errors.push(`${where}: pages of ${revisions.join(', ')}`);
  if (revision < floor) errors.push(`${where}: older than what was seen, ${floor}`);
  if (exact !== undefined && exact !== revision) errors.push(`${where}: ${exact} was requested`);
  const expected = [...state.values()]
    .filter(({ key, value }) => isSelected(selection, key, value))
    .toSorted((a, b) => byKey(a.key, b.key));
  const wrong = expected.find((version, index) => !sameVersion(version, items[index]));
  if (wrong !== undefined || items.length !== expected.length) {
    const text = (versions: readonly Version[]): string =>
      versions.map(({ key, revision: own }) => `${key}@${own}`).join(' ');
    errors.push(`${where}: ${text(items)} instead of ${text(expected)}`);
  }
  for (const { seen, left } of remaining) {
    if (seen + left !== expected.length) {
      errors.push(`${where}: ${left} left after ${seen} of ${expected.length}`);
    }
  }
}
