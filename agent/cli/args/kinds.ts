/** Resource types that `get` supports. Pure. */
import { nearest } from '#api/kit/text/suggest.ts';
import { parseKindName } from '../../sources/applied/applied.ts';
import { UsageError } from '../errors.ts';

const EVENT_WORDS: ReadonlySet<string> = new Set(['event', 'events', 'ev']);
const KNOWN: readonly string[] = [
  'pods',
  'events',
  'configmaps',
  'secrets',
  'persistentvolumes',
  'persistentvolumeclaims',
];

/** Returns `Pod`, `Event`, `ConfigMap`… for `pods`, `ev`, `cm`… @throws UsageError listing all */
export function parseKind(name: string): string {
  const kind = EVENT_WORDS.has(name.toLowerCase()) ? 'Event' : parseKindName(name);
  if (kind !== undefined) return kind;
  const near = nearest(name, KNOWN);
  const hint = near === undefined ? `; known types: ${KNOWN.join(', ')}` : `; did you mean ${near}?`;
  throw new UsageError(`${JSON.stringify(name)} is not a resource type${hint}`);
}
