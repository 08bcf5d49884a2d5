/** Bodies of audit events. Pure. */

import { parseJsonText } from '#api/codec/json-text.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { RawJson } from './event.ts';

export interface BodyInput {
  readonly body: Buffer | readonly Buffer[];
  readonly contentType: string;
  /** Larger ones are left out. */
  readonly maxBytes: number;
  readonly omitManagedFields: boolean;
  /** The same value as JSON if the body has another format; `undefined`: the body could not be parsed. */
  readonly json: Buffer | readonly Buffer[] | undefined;
}

export type BodyResult =
  | { readonly kind: 'object'; readonly object: RawJson }
  | { readonly kind: 'tooLarge' }
  /** There was a body that is not JSON and could not be converted to JSON. */
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'none' };

function dropManagedFields(value: unknown): void {
  if (!isMutableObject(value)) return;
  const { metadata, items } = value;
  if (isMutableObject(metadata)) delete metadata['managedFields'];
  if (Array.isArray(items)) for (const item of items) dropManagedFields(item);
}

function parse(bytes: Buffer): unknown {
  try {
    return parseJsonText(bytes.toString('utf8'));
  } catch {
    // A body that is not JSON has no object; the response reports the error, and the event that the body was
    // omitted.
    return undefined;
  }
}

/** Returns the size of a body in one piece or in many. */
function sizeOf(body: Buffer | readonly Buffer[]): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, piece) => sum + piece.length, 0);
}

/** Reports whether a content type is a JSON type by its name. */
const isJsonType = (contentType: string): boolean =>
  /^application\/(?:[\w.-]+\+)?json$/i.test((contentType.split(';', 1)[0] ?? '').trim());

/** Returns a body for an event: always one line of well-formed JSON, whatever the client sent. */
export function auditBody(input: BodyInput): BodyResult {
  const { body, contentType, maxBytes } = input;
  if (sizeOf(body) === 0) return { kind: 'none' };
  const json = input.json ?? (isJsonType(contentType) ? body : undefined);
  if (json === undefined) return { kind: sizeOf(body) > maxBytes ? 'tooLarge' : 'unreadable' };
  if (sizeOf(json) > maxBytes) return { kind: 'tooLarge' };
  const value = parse(Buffer.isBuffer(json) ? json : Buffer.concat(json));
  if (value === undefined) return { kind: 'unreadable' };
  if (input.omitManagedFields) dropManagedFields(value);
  return { kind: 'object', object: new RawJson(JSON.stringify(value)) };
}
