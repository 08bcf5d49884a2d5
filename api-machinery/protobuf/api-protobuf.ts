/** Conversion of API objects between protobuf and their JSON form, for every built-in type, by the type
 *  tables and without generated code. Source: protobuf encoding, document 1 §2.6; facts README, Encodings. */
import { Buffer } from 'node:buffer';
import { ProtobufError } from '../codec/protobuf/error.ts';
import { Reader, type ReaderLimits } from '../codec/protobuf/reader.ts';
import { Writer } from '../codec/protobuf/writer.ts';
import { findType, META_PACKAGE, packageOf, parseTypeName, type TypeName } from '../schema/registry.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { type TypeMeta, unwrapMessage, wrapMessage } from './envelope.ts';
import { createPlanner, readMessage, readMessageInSteps, writeMessage } from './plan.ts';

type JsonObject = Record<string, unknown>;

/** Stricter than for local sockets: request bodies come from untrusted clients. */
const LIMITS: ReaderLimits = { maxDepth: 100, maxBytes: 64 * 1024 * 1024, maxMessages: 250_000 };
/** For responses of a trusted server: a list of everything that it stores may be long. */
const ANSWER_LIMITS: ReaderLimits = { ...LIMITS, maxBytes: 256 * 1024 * 1024, maxMessages: 4_000_000 };
/** Maximum number of nested objects that have an envelope of their own. */
const MAX_EMBEDDED = 8;
const UNNAMED: TypeMeta = { apiVersion: '', kind: '' };

export interface ApiProtobuf {
  /** Returns the type of a kind's objects: `core/v1.Pod`; `undefined` if it has no protobuf form. Types that
   *  all groups share, such as Status and DeleteOptions, are found under any version. */
  typeRefOf(meta: TypeMeta): string | undefined;
  /** Encodes only the message, without an envelope. `kind` and `apiVersion` are not part of it.
   *  @throws ProtobufError `InvalidValue` */
  encodeMessage(typeRef: string, object: Readonly<JsonObject>): Buffer;
  /** @throws ProtobufError */
  decodeMessage(typeRef: string, bytes: Uint8Array): JsonObject;
  /** Encodes a whole object in its envelope.
   *  @throws ProtobufError `UnknownType` if its kind has no protobuf form */
  encode(object: Readonly<JsonObject> & TypeMeta): Buffer;
  /** Returns the object in an envelope. `assumed` is its kind if the envelope does not name one.
   *  @throws ProtobufError */
  decode(bytes: Buffer, assumed?: TypeMeta): JsonObject & TypeMeta;
  /** Decodes a server's response in steps between which the caller can yield to the event loop: one for each
   *  list item.
   *  @throws ProtobufError */
  decodeInSteps(bytes: Buffer): Generator<undefined, JsonObject & TypeMeta>;
}

/** Reports whether a type is that of top-level objects, and has a message. */
function isKind(name: TypeName): boolean {
  const fact = findType(name);
  if (fact === undefined) return false;
  const { jsonOnly, kind, fields } = fact;
  const typed =
    kind === true || fields.some(({ inline, type }) => inline === true && type.endsWith('.TypeMeta'));
  return jsonOnly !== true && typed;
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
    // One reader per level: embedded objects are read while the outer one is being read.
    const reader = (readers[embedded] ??= new Reader(LIMITS));
    reader.reset(bytes);
    try {
      return readMessage(planOf(parseTypeName(typeRef)), reader, {});
    } finally {
      reader.release();
    }
  }

  /** Returns the content of an envelope, and its type. */
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
    // Needs its own reader: other decoding happens between the steps.
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
