/** Bodies as they go into audit events. Pure. */
import { parseJsonText } from '#api/codec/json-text.ts';
import { RawJson } from './event.ts';

export interface BodyInput {
  readonly body: Buffer | readonly Buffer[];
  readonly contentType: string;
  /** Larger ones are left out. */
  readonly maxBytes: number;
  readonly omitManagedFields: boolean;
  /** The same as JSON, where it is something else; `undefined`: nobody could read it. */
  readonly json: Buffer | readonly Buffer[] | undefined;
}

export type BodyResult =
  | { readonly kind: 'object'; readonly object: RawJson }
  | { readonly kind: 'tooLarge' }
  /** There was something that is no JSON, and nobody could make JSON of it. */
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'none' };

type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function dropManagedFields(value: unknown): void {
  if (!isMembers(value)) return;
  const { metadata, items } = value;
  if (isMembers(metadata)) delete metadata['managedFields'];
  if (Array.isArray(items)) for (const item of items) dropManagedFields(item);
}

function parse(bytes: Buffer): unknown {
  try {
    return parseJsonText(bytes.toString('utf8'));
  } catch {
    // What is no JSON is no object; the answer to the request says so, and the event that it was left out.
    return undefined;
  }
}

/** Sizes of a body in one piece or in many. */
function sizeOf(body: Buffer | readonly Buffer[]): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, piece) => sum + piece.length, 0);
}

/** Whether a content type is JSON by its name. */
const isJsonType = (contentType: string): boolean =>
  /^application\/(?:[\w.-]+\+)?json$/i.test((contentType.split(';', 1)[0] ?? '').trim());

/** A body for an event: always one line of sound JSON, whatever the client sent. */
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
