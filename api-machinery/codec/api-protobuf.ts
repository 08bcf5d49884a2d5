/** API objects in protobuf, from and to the form that they have in JSON, for every built-in type, without generated
 *  code: the type tables say how. Source: document 1, 2.6; facts README, Encodings. */
import { Buffer } from 'node:buffer';
import {
  META_PACKAGE,
  packageOf,
  parseTypeName,
  type TypeName,
  typeOf,
  UnknownTypeError,
} from '../schema/registry.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { type TypeMeta, unwrapMessage, wrapMessage } from './api-protobuf/envelope.ts';
import { createPlanner, readMessage, readMessageInSteps, writeMessage } from './api-protobuf/plan.ts';
import { ProtobufError } from './protobuf/error.ts';
import { Reader, type ReaderLimits } from './protobuf/reader.ts';
import { Writer } from './protobuf/writer.ts';

type JsonObject = Record<string, unknown>;

/** Stricter than for local sockets: bodies come from strangers. */
const LIMITS: ReaderLimits = { maxDepth: 100, maxBytes: 64 * 1024 * 1024, maxMessages: 250_000 };
/** For answers of a server that the reader chose itself: a list of all that it has may be long. */
const ANSWER_LIMITS: ReaderLimits = { ...LIMITS, maxBytes: 256 * 1024 * 1024, maxMessages: 4_000_000 };
/** Objects inside of objects, each in an envelope of its own. */
const MAX_EMBEDDED = 8;
const UNNAMED: TypeMeta = { apiVersion: '', kind: '' };

export interface ApiProtobuf {
  /** Type of a kind's objects: `core/v1.Pod`; `undefined` if it has no protobuf form. Types that all groups share,
   *  such as Status and DeleteOptions, are found under any version. */
  typeRefOf(meta: TypeMeta): string | undefined;
  /** The message alone, without an envelope. `kind` and `apiVersion` are not part of it.
   *  @throws ProtobufError `InvalidValue` */
  encodeMessage(typeRef: string, object: Readonly<JsonObject>): Buffer;
  /** @throws ProtobufError */
  decodeMessage(typeRef: string, bytes: Uint8Array): JsonObject;
  /** A whole object in its envelope.
   *  @throws ProtobufError `UnknownType` if its kind has no protobuf form */
  encode(object: Readonly<JsonObject> & TypeMeta): Buffer;
  /** The object of an envelope. `assumed` says what it is where it does not say so itself.
   *  @throws ProtobufError */
  decode(bytes: Buffer, assumed?: TypeMeta): JsonObject & TypeMeta;
  /** The same of a server's answer, in steps between which others may have their turn: a list has one for each item.
   *  @throws ProtobufError */
  decodeInSteps(bytes: Buffer): Generator<undefined, JsonObject & TypeMeta>;
}

/** Whether objects of their own are of this type, and have a message. */
function isKind(name: TypeName): boolean {
  try {
    const { jsonOnly, kind, fields } = typeOf(name);
    const typed =
      kind === true || fields.some(({ inline, type }) => inline === true && type.endsWith('.TypeMeta'));
    return jsonOnly !== true && typed;
  } catch (error) {
    if (error instanceof UnknownTypeError) return false;
    throw error;
  }
}

export function createApiProtobuf(vocabulary: Vocabulary): ApiProtobuf {
  const writer = new Writer();
  const readers: Reader[] = [];
  let embedded = 0;

  function readEmbedded(bytes: Buffer): unknown {
    if (embedded >= MAX_EMBEDDED) throw new ProtobufError('LimitExceeded', 'objects nested too deeply');
    embedded += 1;
    try {
      return decode(bytes);
    } finally {
      embedded -= 1;
    }
  }

  const planOf = createPlanner(vocabulary, readEmbedded);

  function typeRefOf({ apiVersion, kind }: TypeMeta): string | undefined {
    if (kind === '') return undefined;
    const own = packageOf(apiVersion, vocabulary);
    const packageName = [own, META_PACKAGE].find(
      (name) => name !== undefined && isKind({ packageName: name, typeName: kind }),
    );
    return packageName === undefined ? undefined : `${packageName}.${kind}`;
  }

  function knownType(meta: TypeMeta): string {
    const typeRef = typeRefOf(meta);
    if (typeRef !== undefined) return typeRef;
    throw new ProtobufError('UnknownType', `no protobuf form of ${meta.apiVersion} ${meta.kind}`);
  }

  function encodeMessage(typeRef: string, object: Readonly<JsonObject>): Buffer {
    writer.reset();
    writeMessage(planOf(parseTypeName(typeRef)), writer, object);
    const { buffer, byteOffset, byteLength } = writer.finish();
    return Buffer.from(buffer, byteOffset, byteLength);
  }

  function decodeMessage(typeRef: string, bytes: Uint8Array): JsonObject {
    // One for each level: objects embedded in this one are read while it is.
    const reader = (readers[embedded] ??= new Reader(LIMITS));
    reader.reset(bytes);
    try {
      return readMessage(planOf(parseTypeName(typeRef)), reader, {});
    } finally {
      reader.release();
    }
  }

  /** What an envelope holds, and what that is. */
  function opened(
    bytes: Buffer,
    assumed: TypeMeta,
    limits = LIMITS,
  ): { readonly raw: Buffer; readonly meta: TypeMeta; readonly typeRef: string } {
    const { raw, contentEncoding, ...given } = unwrapMessage(bytes, limits);
    if (contentEncoding !== '') throw new ProtobufError('Malformed', 'content encodings are not supported');
    const apiVersion = given.apiVersion === '' ? assumed.apiVersion : given.apiVersion;
    const kind = given.kind === '' ? assumed.kind : given.kind;
    return { raw, meta: { kind, apiVersion }, typeRef: knownType({ apiVersion, kind }) };
  }

  function decode(bytes: Buffer, assumed: TypeMeta = UNNAMED): JsonObject & TypeMeta {
    const { raw, meta, typeRef } = opened(bytes, assumed);
    return { ...meta, ...decodeMessage(typeRef, raw) };
  }

  function* decodeInSteps(bytes: Buffer): Generator<undefined, JsonObject & TypeMeta> {
    const { raw, meta, typeRef } = opened(bytes, UNNAMED, ANSWER_LIMITS);
    // One of its own: others decode between the steps.
    const reader = new Reader(ANSWER_LIMITS);
    reader.reset(raw);
    const object = yield* readMessageInSteps(planOf(parseTypeName(typeRef)), reader, {});
    return { ...meta, ...object };
  }

  return {
    typeRefOf,
    encodeMessage,
    decodeMessage,
    encode: (object) => wrapMessage(object, encodeMessage(knownType(object), object)),
    decode,
    decodeInSteps,
  };
}
