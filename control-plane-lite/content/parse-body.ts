/** Parses the bytes of a body to a value, with strict, limited parsers. Knows no types except those of
 *  protobuf. */

import type { JsonValue } from '#api/codec/json.ts';
import { parseJsonBytes } from '#api/codec/json-bytes.ts';
import { parseJsonInTurns } from '#api/codec/json-slices.ts';
import { TextSyntaxError } from '#api/codec/limits.ts';
import type { MemberNames } from '#api/codec/member-names.ts';
import { ProtobufError } from '#api/codec/protobuf/error.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import type { TypeMeta } from '#api/protobuf/envelope.ts';
import { isLarge, yieldToEventLoop } from '../kit/yield.ts';
import type { MediaType } from './negotiation.ts';
import type { YamlReader } from './yaml-reader.ts';

/** Parsers of formats other than JSON. */
export interface BodyReaders {
  /** Awaited between two slices of a large body. An exception ends the parsing. */
  readonly turn?: () => Promise<void>;
  readonly protobuf: ApiProtobuf;
  readonly yaml: YamlReader;
}

export interface ParsedBody {
  readonly value: unknown;
  /** Duplicate keys of an object; the last value counts. */
  readonly duplicates: readonly FieldError[];
  /** Of objects with very many members. */
  readonly names?: MemberNames;
}

/** Number of bytes of an unreadable body that error messages show. */
const SUMMARY_BYTES = 30;

function summaryOf(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const start = body.subarray(0, SUMMARY_BYTES);
  return `${start.toString(body[0] === 0x7b ? 'utf8' : 'hex')}${body.length > SUMMARY_BYTES ? ' ...' : ''}`;
}

/** The error of a body that is not an object. */
export function unrecognized(kind: string, detail: string, body: Buffer, cause?: unknown): StatusError {
  return new StatusError(
    'BadRequest',
    `the object provided is unrecognized (must be of type ${kind}): ${detail} (${summaryOf(body)})`,
    { cause },
  );
}

const parsed = ({ value, errors, names }: JsonValue): ParsedBody =>
  names === undefined ? { value, duplicates: errors } : { value, duplicates: errors, names };

function noJson(error: unknown, body: Buffer, kind: string): unknown {
  if (!(error instanceof TextSyntaxError)) return error;
  const what = body.length === 0 ? 'unexpected end of JSON input' : error.message;
  const place = `line ${error.line}, column ${error.column}`;
  return unrecognized(kind, `couldn't get version/kind; json parse error: ${what} at ${place}`, body, error);
}

function parseAsJson(
  body: Buffer,
  kind: string,
  turn: BodyReaders['turn'],
): ParsedBody | Promise<ParsedBody> {
  if (isLarge(body)) return parseLargeJson(body, kind, turn);
  try {
    return parsed(parseJsonBytes(body));
  } catch (error) {
    throw noJson(error, body, kind);
  }
}

async function parseLargeJson(
  body: Buffer,
  kind: string,
  turn: BodyReaders['turn'] = yieldToEventLoop,
): Promise<ParsedBody> {
  try {
    return parsed(await parseJsonInTurns(body, turn));
  } catch (error) {
    throw noJson(error, body, kind);
  }
}

const OPENING_BRACE = 0x7b;

async function parseAsYaml(body: Buffer, kind: string, { yaml, turn }: BodyReaders): Promise<ParsedBody> {
  // Most bodies sent as YAML are JSON, which is parsed much faster.
  if (body[0] === OPENING_BRACE) {
    try {
      return await parseAsJson(body, kind, turn);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
    }
  }
  try {
    const document = await yaml.read(body);
    const errors = document?.errors ?? [];
    const fieldError = errors.find((error) => error.kind !== 'FieldValueDuplicate');
    if (fieldError === undefined) return { value: document?.value, duplicates: errors };
    throw unrecognized(
      kind,
      `error converting YAML to JSON: yaml: ${fieldError.field}: ${fieldError.detail}`,
      body,
    );
  } catch (error) {
    if (!(error instanceof TextSyntaxError)) throw error;
    throw unrecognized(kind, `error converting YAML to JSON: yaml: ${error.message}`, body, error);
  }
}

function parseAsProtobuf(body: Buffer, assumed: TypeMeta, protobuf: ApiProtobuf): ParsedBody {
  try {
    return { value: protobuf.decode(body, assumed), duplicates: [] };
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    throw unrecognized(assumed.kind, error.message, body, error);
  }
}

/** Parses a body. `assumed` is the expected kind: for errors, and for protobuf without a kind of its own.
 *  @throws StatusError BadRequest */
export function parseBody(
  body: Buffer,
  format: MediaType,
  assumed: TypeMeta,
  readers: BodyReaders,
): ParsedBody | Promise<ParsedBody> {
  switch (format) {
    case 'json':
      return parseAsJson(body, assumed.kind, readers.turn);
    case 'yaml':
      return parseAsYaml(body, assumed.kind, readers);
    case 'protobuf':
      return parseAsProtobuf(body, assumed, readers.protobuf);
    default:
      return format satisfies never;
  }
}
