/** Checker of a history: finds violations of consistency. */
import { checkGets, checkListings } from './check-reads.ts';
import { checkWatchings } from './check-watches.ts';
import { checkWrites } from './check-writes.ts';
import { type History, type Seen, textOf } from './history.ts';
import { changesOf, createTruth } from './truth.ts';

const textOfSeen = (seen: Seen): string =>
  seen.kind === 'bookmark'
    ? ''
    : `${seen.type} ${seen.version.key}@${seen.version.revision} ${textOf(seen.version.value)}`;

/** The observations that are checked. */
const upTo = (end: number, seen: readonly Seen[]): readonly Seen[] =>
  seen.filter((each) => (each.kind === 'event' ? each.version.revision : each.revision) <= end);

export function findErrors({ end, before, ...history }: History): readonly string[] {
  const errors: string[] = [];
  const [witness = [], ...others] = history.witnesses.map((seen) => upTo(end, seen));
  const truth = createTruth(changesOf(witness, before, errors), history.writes);
  const texts = witness.map(textOfSeen).filter((text) => text !== '');
  for (const other of others) {
    const seen = other.map(textOfSeen).filter((text) => text !== '');
    const differs = texts.findIndex((text, index) => text !== seen[index]);
    if (differs >= 0 || seen.length !== texts.length) {
      errors.push(`witnesses differ: ${texts[differs] ?? 'end'} and ${seen[differs] ?? 'end'}`);
    }
  }
  checkWrites(truth, history.writes, errors);
  checkGets(truth, history.gets, errors);
  checkListings(truth, history.listings, errors);
  const watchings = history.watchings.map((each) => ({ ...each, seen: upTo(end, each.seen) }));
  checkWatchings(truth, watchings, errors);
  return errors;
}
