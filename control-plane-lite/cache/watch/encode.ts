/** Encodes changes as the events that one selection sees. Pure. Source: watch events, document 1 §4.5;
 *  upstream for objects that enter or leave a selection. */

import type { CacheChange, EventEncoder } from '../contract.ts';
import { RestampedObject } from '../state/cached-object.ts';
import type { Matcher } from '../state/selection.ts';

/** Returns the bytes of one change's event; `undefined` if the selection doesn't see it. An object that
 *  leaves the selection is shown as deleted: in its last selected state, with the revision of the change. */
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

/** Returns the bytes of several changes' events, concatenated. */
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
