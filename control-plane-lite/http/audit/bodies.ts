/** Bodies as they go into audit events. Pure. */
import { parseJsonText } from '#api/codec/json-text.ts';
import { RawJson } from './event.ts';

/** Makes JSON of a body in another form; `undefined` where it can't. */
export type BodyToJson = (body: Buffer, contentType: string) => Buffer | undefined;

export interface BodyInput {
  readonly body: Buffer | readonly Buffer[];
  readonly contentType: string;
  /** Larger ones are left out. */
  readonly maxBytes: number;
  readonly omitManagedFields: boolean;
  readonly toJson: BodyToJson;
}

export type BodyResult =
  | { readonly kind: 'object'; readonly object: RawJson }
  | { readonly kind: 'tooLarge' }
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
    // What is no JSON is no object; the answer to the request says so.
    return undefined;
  }
}

/** Sizes of a body in one piece or in many. */
function sizeOf(body: Buffer | readonly Buffer[]): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, piece) => sum + piece.length, 0);
}

/** A body for an event: always one line of sound JSON, whatever the client sent. */
export function auditBody(input: BodyInput): BodyResult {
  const { body, contentType, maxBytes } = input;
  const size = sizeOf(body);
  if (size === 0) return { kind: 'none' };
  if (size > maxBytes) return { kind: 'tooLarge' };
  const whole = Buffer.isBuffer(body) ? body : Buffer.concat(body);
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(contentType);
  const json = isJson ? whole : input.toJson(whole, contentType);
  const value = json === undefined ? undefined : parse(json);
  if (value === undefined) return { kind: 'none' };
  if (input.omitManagedFields) dropManagedFields(value);
  return { kind: 'object', object: new RawJson(JSON.stringify(value)) };
}
