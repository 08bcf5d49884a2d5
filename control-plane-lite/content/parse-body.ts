/** From the bytes of a body to a value, by strict parsers with limits. Knows no types but those of protobuf. */
import type { TypeMeta } from '#api/codec/api-protobuf/envelope.ts';
import type { ApiProtobuf } from '#api/codec/api-protobuf.ts';
import { parseJsonBytes } from '#api/codec/json-bytes.ts';
import { SyntaxFault } from '#api/codec/limits.ts';
import { ProtobufError } from '#api/codec/protobuf/error.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { MediaType } from './negotiation.ts';
import type { YamlReader } from './yaml-reader.ts';

/** What bodies are read with that are no JSON. */
export interface BodyReaders {
  readonly protobuf: ApiProtobuf;
  readonly yaml: YamlReader;
}

export interface ParsedBody {
  readonly value: unknown;
  /** Keys that an object has twice; the last one counts. */
  readonly duplicates: readonly FieldError[];
}

/** Shown of a body that cannot be read, to tell whose it was. */
const SUMMARY_BYTES = 30;

function summaryOf(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const start = body.subarray(0, SUMMARY_BYTES);
  return `${start.toString(body[0] === 0x7b ? 'utf8' : 'hex')}${body.length > SUMMARY_BYTES ? ' ...' : ''}`;
}

/** The body is no object at all. */
export function unrecognized(kind: string, detail: string, body: Buffer, cause?: unknown): StatusError {
  return new StatusError(
    'BadRequest',
    `the object provided is unrecognized (must be of type ${kind}): ${detail} (${summaryOf(body)})`,
    { cause },
  );
}

function parseAsJson(body: Buffer, kind: string): ParsedBody {
  try {
    const { value, errors } = parseJsonBytes(body);
    return { value, duplicates: errors };
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    const what = body.length === 0 ? 'unexpected end of JSON input' : error.message;
    const place = `line ${error.line}, column ${error.column}`;
    throw unrecognized(kind, `couldn't get version/kind; json parse error: ${what} at ${place}`, body, error);
  }
}

const OPENING_BRACE = 0x7b;

async function parseAsYaml(body: Buffer, kind: string, yaml: YamlReader): Promise<ParsedBody> {
  // Most of what is called YAML is JSON, which is read much faster.
  if (body[0] === OPENING_BRACE) {
    try {
      return parseAsJson(body, kind);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
    }
  }
  try {
    const document = await yaml.read(body);
    const errors = document?.errors ?? [];
    const fault = errors.find((error) => error.kind !== 'FieldValueDuplicate');
    if (fault === undefined) return { value: document?.value, duplicates: errors };
    throw unrecognized(kind, `error converting YAML to JSON: yaml: ${fault.field}: ${fault.detail}`, body);
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
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

/** Reads a body. `assumed` is what it should be: for errors, and for protobuf that does not say what it is.
 *  @throws StatusError BadRequest */
export function parseBody(
  body: Buffer,
  format: MediaType,
  assumed: TypeMeta,
  { protobuf, yaml }: BodyReaders,
): ParsedBody | Promise<ParsedBody> {
  switch (format) {
    case 'json':
      return parseAsJson(body, assumed.kind);
    case 'yaml':
      return parseAsYaml(body, assumed.kind, yaml);
    case 'protobuf':
      return parseAsProtobuf(body, assumed, protobuf);
    default:
      return format satisfies never;
  }
}
