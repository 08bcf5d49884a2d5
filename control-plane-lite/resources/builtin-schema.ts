/** Decoder of the built-in kinds, from the type tables. Pure. */
import type { Steps } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { protobufLengthSteps } from '#api/protobuf/length.ts';
import { completed } from '#api/schema/complete.ts';
import { type Decoded, decode, decodeInSteps } from '#api/schema/decode.ts';
import { applyDefaultsInPlace } from '#api/schema/defaults.ts';
import { parseTypeName, wireApiVersion } from '#api/schema/registry.ts';
import type { TypeModel } from '#api/schema/type-model.ts';
import { typeModelOf } from '#api/schema/type-model-builtin.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, DecodedObject, ObjectSchema, SteppedDecoding } from './contract.ts';
import { MAX_OBJECT_BYTES } from './object-size.ts';

export interface BuiltinSchemaOptions {
  readonly vocabulary: Vocabulary;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
}

/** Groups whose servers upstream store JSON. */
const STORED_AS_JSON: ReadonlySet<string> = new Set(['apiextensions', 'apiregistration']);

const NO_ERRORS: readonly FieldError[] = [];
const isUnknown = ({ kind }: FieldError): boolean => kind === 'FieldUnknown';

/** Decoded object: members that every object has may be missing. */
interface Raw extends Record<string, unknown> {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: ApiObject['metadata'];
}

const isComplete = (raw: Raw): raw is ApiObject =>
  raw.kind !== undefined && raw.apiVersion !== undefined && raw.metadata !== undefined;

/** Members that may be shared between writes: all but the metadata. */
function partsOf(known: ApiObject): object {
  const { metadata: _, ...parts } = known;
  return parts;
}

/** The schema of a built-in type such as `core/v1.Pod`.
 *  @throws UnknownTypeError if the tables do not have it */
export function createBuiltinSchema(
  typeRef: string,
  { vocabulary, gates }: BuiltinSchemaOptions,
): ObjectSchema {
  const { packageName, typeName } = parseTypeName(typeRef);
  const apiVersion = wireApiVersion(packageName, vocabulary);
  const decodeOptions = { vocabulary, missingFields: 'ignore', emptyFields: 'canonical' } as const;
  const defaultOptions = { vocabulary, gates };
  let model: TypeModel | undefined;

  const complete = (raw: Raw): ApiObject =>
    isComplete(raw) ? raw : { kind: typeName, apiVersion, metadata: {}, ...raw };

  function read(value: unknown, known?: ApiObject): DecodedObject {
    const parts = known === undefined ? {} : partsOf(known);
    return finished(decode<Raw>(typeRef, value, { ...decodeOptions, known: parts }), parts);
  }

  function* readInSteps(value: unknown, { known, names }: SteppedDecoding): Steps<DecodedObject> {
    const parts = known === undefined ? {} : partsOf(known);
    const decoded = yield* decodeInSteps<Raw>(typeRef, value, {
      ...decodeOptions,
      known: parts,
      maxLength: MAX_OBJECT_BYTES,
      ...(names === undefined ? {} : { names }),
    });
    yield;
    return finished(decoded, parts);
  }

  function finished({ value: raw, errors }: Decoded<Raw>, parts: object): DecodedObject {
    const object = complete(raw);
    applyDefaultsInPlace(typeRef, object, defaultOptions, parts);
    if (errors.length === 0) return { object, errors: NO_ERRORS, unknown: NO_ERRORS };
    return {
      object,
      errors: errors.filter((error) => !isUnknown(error)),
      unknown: errors.filter(isUnknown),
    };
  }

  const [group = ''] = packageName.split('.');
  const isJson = STORED_AS_JSON.has(group);
  return {
    typeRef,
    ...(isJson
      ? {}
      : { protobufLength: (object, options) => protobufLengthSteps(typeRef, object, vocabulary, options) }),
    decode: read,
    decodeInSteps: readInSteps,
    applyDefaults: (draft) => applyDefaultsInPlace(typeRef, draft, defaultOptions),
    completed: (object) => completed(typeRef, object, vocabulary),
    get model() {
      model ??= typeModelOf(typeRef, vocabulary);
      return model;
    },
  };
}
