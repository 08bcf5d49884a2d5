/** Changes as the events that one selection sees. Pure. Source: document 1, 4.5; upstream for objects that come into
 *  a selection or leave it. */
import { RestampedObject } from './cached-object.ts';
import type { CacheChange, EventEncoder } from './contract.ts';
import type { Matcher } from './selection.ts';

/** The bytes of one change's event; `undefined` if the selection doesn't see it. An object that leaves the selection
 *  is shown deleted: as it was last seen, with the revision of the change. */
export function encodeChange(
  change: CacheChange,
  matches: Matcher | undefined,
  encoder: EventEncoder,
): Buffer | undefined {
  const { type, current, previous } = change;
  if (matches === undefined) return encoder.encode(type, current);
  const isSelected = type !== 'DELETED' && matches(current);
  const wasSelected = previous !== undefined && matches(previous);
  if (isSelected) return encoder.encode(wasSelected ? 'MODIFIED' : 'ADDED', current);
  if (!wasSelected) return undefined;
  return encoder.encode(
    'DELETED',
    type === 'DELETED' ? current : new RestampedObject(previous, current.revision),
  );
}

export function joinBytes(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

/** The bytes of several changes' events, one after the other. */
export function encodeChanges(
  changes: readonly CacheChange[],
  matches: Matcher | undefined,
  encoder: EventEncoder,
): Buffer {
  const parts: Buffer[] = [];
  for (const change of changes) {
    const bytes = encodeChange(change, matches, encoder);
    if (bytes !== undefined) parts.push(bytes);
  }
  return joinBytes(parts);
}
