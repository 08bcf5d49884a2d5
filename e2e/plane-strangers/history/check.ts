/** Judges a history: what must never have happened and did. */
import { checkGets, checkListings } from './check-reads.ts';
import { checkWatchings } from './check-watches.ts';
import { checkWrites } from './check-writes.ts';
import { type History, type Seen, textOf } from './history.ts';
import { changesOf, createTruth } from './truth.ts';

const textOfSeen = (seen: Seen): string =>
  seen.kind === 'bookmark'
    ? ''
    : `${seen.type} ${seen.version.key}@${seen.version.revision} ${textOf(seen.version.value)}`;

export function findFaults(history: History): readonly string[] {
  const faults: string[] = [];
  const [witness = [], ...others] = history.witnesses;
  const truth = createTruth(changesOf(witness, faults), history.writes);
  const texts = witness.map(textOfSeen).filter((text) => text !== '');
  for (const other of others) {
    const seen = other.map(textOfSeen).filter((text) => text !== '');
    const differs = texts.findIndex((text, index) => text !== seen[index]);
    if (differs >= 0 || seen.length !== texts.length) {
      faults.push(`witnesses differ: ${texts[differs] ?? 'end'} and ${seen[differs] ?? 'end'}`);
    }
  }
  checkWrites(truth, history.writes, faults);
  checkGets(truth, history.gets, faults);
  checkListings(truth, history.listings, faults);
  checkWatchings(truth, history.watchings, faults);
  return faults;
}
