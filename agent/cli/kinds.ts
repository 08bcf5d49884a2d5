/** The types that `get` shows. Pure. */
import { nearest } from '#api/kit/suggest.ts';
import { parseKindWord } from '../sources/applied.ts';
import { UsageError } from './errors.ts';

const EVENT_WORDS: ReadonlySet<string> = new Set(['event', 'events', 'ev']);
const KNOWN: readonly string[] = [
  'pods',
  'events',
  'configmaps',
  'secrets',
  'persistentvolumes',
  'persistentvolumeclaims',
];

/** `Pod`, `Event`, `ConfigMap`… of `pods`, `ev`, `cm`… @throws UsageError naming all */
export function parseKind(word: string): string {
  const kind = EVENT_WORDS.has(word.toLowerCase()) ? 'Event' : parseKindWord(word);
  if (kind !== undefined) return kind;
  const near = nearest(word, KNOWN);
  const hint = near === undefined ? `; there are ${KNOWN.join(', ')}` : `; did you mean ${near}?`;
  throw new UsageError(`${JSON.stringify(word)} is not a type${hint}`);
}
