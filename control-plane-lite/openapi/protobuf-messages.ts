/** Protobuf encoding of OpenAPI 2, which older command-line tools request: the field number of each member.
 *  Data and small writers. Source: the numbers of gnostic's OpenAPIv2.proto. */

import type { Writer } from '#api/codec/protobuf/writer.ts';
import { isObject } from '#api/kit/object.ts';

/** Writes a field with its tag, or nothing if the value isn't of the field's kind. */
export type WriteField = (writer: Writer, field: number, value: unknown) => void;

export interface Message {
  readonly fields: Readonly<Record<string, readonly [field: number, write: WriteField]>>;
  /** Field of members that begin with `x-`. */
  readonly extensions?: number;
}

const LENGTH_DELIMITED = 2;
const VARINT = 0;
const FIXED_64 = 1;

const tag = (writer: Writer, field: number, wireType: number): void => writer.uint32((field << 3) | wireType);

function delimited(writer: Writer, field: number, content: () => void): void {
  tag(writer, field, LENGTH_DELIMITED);
  const start = writer.beginLength();
  content();
  writer.endLength(start);
}

const text: WriteField = (writer, field, value) => {
  if (typeof value !== 'string') return;
  tag(writer, field, LENGTH_DELIMITED);
  writer.string(value);
};

const flag: WriteField = (writer, field, value) => {
  if (typeof value !== 'boolean') return;
  tag(writer, field, VARINT);
  writer.bool(value);
};

const whole: WriteField = (writer, field, value) => {
  if (typeof value !== 'bigint' && (typeof value !== 'number' || !Number.isSafeInteger(value))) return;
  tag(writer, field, VARINT);
  writer.int64(BigInt(value));
};

const double: WriteField = (writer, field, value) => {
  if (typeof value !== 'number' && typeof value !== 'bigint') return;
  tag(writer, field, FIXED_64);
  writer.double(Number(value));
};

/** Any value, as a text of YAML; JSON is YAML. */
const any: WriteField = (writer, field, value) => {
  if (value === undefined) return;
  delimited(writer, field, () => text(writer, 2, JSON.stringify(value)));
};

/** A list, or a single value in place of one. */
const each =
  (write: WriteField): WriteField =>
  (writer, field, value) => {
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const item of list) write(writer, field, item);
  };

/** A message that holds nothing but one field. */
const inside =
  (inner: number, write: WriteField): WriteField =>
  (writer, field, value) =>
    delimited(writer, field, () => write(writer, inner, value));

/** An object as a list of names and values. */
const named =
  (write: WriteField): WriteField =>
  (writer, field, value) => {
    if (!isObject(value)) return;
    for (const [name, item] of Object.entries(value)) {
      delimited(writer, field, () => {
        text(writer, 1, name);
        write(writer, 2, item);
      });
    }
  };

const message =
  (of: () => Message): WriteField =>
  (writer, field, value) => {
    if (isObject(value)) delimited(writer, field, () => writeMembers(writer, of(), value));
  };

const extension: WriteField = named(any);

function writeMembers(
  writer: Writer,
  { fields, extensions }: Message,
  value: Readonly<Record<string, unknown>>,
): void {
  for (const [name, member] of Object.entries(value)) {
    const known = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (known !== undefined) known[1](writer, known[0], member);
    else if (extensions !== undefined && name.startsWith('x-')) {
      extension(writer, extensions, { [name]: member });
    }
  }
}

const additional: WriteField = (writer, field, value) =>
  typeof value === 'boolean'
    ? inside(2, flag)(writer, field, value)
    : inside(
        1,
        message(() => SCHEMA),
      )(writer, field, value);

/** Members that schemas and parameters share under different field numbers. */
const SCHEMA: Message = {
  extensions: 31,
  fields: {
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, any],
    multipleOf: [6, double],
    maximum: [7, double],
    exclusiveMaximum: [8, flag],
    minimum: [9, double],
    exclusiveMinimum: [10, flag],
    maxLength: [11, whole],
    minLength: [12, whole],
    pattern: [13, text],
    maxItems: [14, whole],
    minItems: [15, whole],
    uniqueItems: [16, flag],
    maxProperties: [17, whole],
    minProperties: [18, whole],
    required: [19, each(text)],
    enum: [20, each(any)],
    additionalProperties: [21, additional],
    type: [22, inside(1, each(text))],
    items: [23, inside(1, each(message(() => SCHEMA)))],
    allOf: [24, each(message(() => SCHEMA))],
    properties: [25, inside(1, named(message(() => SCHEMA)))],
    example: [30, any],
  },
};

const BODY_PARAMETER: Message = {
  fields: {
    description: [1, text],
    name: [2, text],
    in: [3, text],
    required: [4, flag],
    schema: [5, message(() => SCHEMA)],
  },
};

const PATH_PARAMETER: Message = {
  fields: { required: [1, flag], in: [2, text], description: [3, text], name: [4, text], type: [5, text] },
};

const QUERY_PARAMETER: Message = {
  fields: {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [6, text],
    uniqueItems: [20, flag],
  },
};

const parameter: WriteField = (writer, field, value) => {
  const place = isObject(value) ? value['in'] : undefined;
  if (place === 'body')
    return inside(
      1,
      message(() => BODY_PARAMETER),
    )(writer, field, value);
  const [number, of] = place === 'path' ? ([4, PATH_PARAMETER] as const) : ([3, QUERY_PARAMETER] as const);
  return inside(
    2,
    inside(
      number,
      message(() => of),
    ),
  )(writer, field, value);
};

const JSON_REFERENCE: Message = { fields: { $ref: [1, text] } };

const parameterItem: WriteField = (writer, field, value) =>
  isObject(value) && '$ref' in value
    ? inside(
        2,
        message(() => JSON_REFERENCE),
      )(writer, field, value)
    : inside(1, parameter)(writer, field, value);

const RESPONSE: Message = {
  fields: {
    description: [1, text],
    schema: [
      2,
      inside(
        1,
        message(() => SCHEMA),
      ),
    ],
  },
};

const OPERATION: Message = {
  extensions: 13,
  fields: {
    tags: [1, each(text)],
    description: [3, text],
    operationId: [5, text],
    produces: [6, each(text)],
    consumes: [7, each(text)],
    parameters: [8, each(parameterItem)],
    responses: [
      9,
      inside(
        1,
        named(
          inside(
            1,
            message(() => RESPONSE),
          ),
        ),
      ),
    ],
  },
};

const operation = message(() => OPERATION);

const PATH_ITEM: Message = {
  fields: {
    get: [2, operation],
    put: [3, operation],
    post: [4, operation],
    delete: [5, operation],
    options: [6, operation],
    head: [7, operation],
    patch: [8, operation],
    parameters: [9, each(parameterItem)],
  },
};

const INFO: Message = { fields: { title: [1, text], version: [2, text], description: [3, text] } };

const API_KEY: Message = {
  fields: { type: [1, text], name: [2, text], in: [3, text], description: [4, text] },
};

/** A list of texts in a message of its own. */
const texts = (writer: Writer, field: number, value: unknown): void =>
  delimited(writer, field, () => each(text)(writer, 1, value));

const DOCUMENT: Message = {
  fields: {
    swagger: [1, text],
    info: [2, message(() => INFO)],
    schemes: [5, each(text)],
    consumes: [6, each(text)],
    produces: [7, each(text)],
    paths: [8, inside(2, named(message(() => PATH_ITEM)))],
    definitions: [9, inside(1, named(message(() => SCHEMA)))],
    parameters: [10, inside(1, named(parameter))],
    security: [12, each(inside(1, named(texts)))],
    securityDefinitions: [
      13,
      inside(
        1,
        named(
          inside(
            2,
            message(() => API_KEY),
          ),
        ),
      ),
    ],
  },
};

/** Encodes members of a document. Decoders merge members that are encoded in several parts. */
export function writeDocument(writer: Writer, members: Readonly<Record<string, unknown>>): void {
  writeMembers(writer, DOCUMENT, members);
}
