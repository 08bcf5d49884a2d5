/** From a body's value to an object of the kind that the endpoint takes, with the answers that clients of the field
 *  get where it is none. Source: document 1, 4.7; how strict to be is the client's choice (`fieldValidation`). */
import type { TypeMeta } from '#api/codec/api-protobuf/envelope.ts';
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import type { ApiObject, DecodedObject, ObjectSchema } from '../resources/contract.ts';

/** `Ignore`: drop what the type does not have. `Warn`: drop it and say so. `Strict`: refuse it. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** What a body is to be. */
export interface BodyTarget extends TypeMeta {
  readonly schema: ObjectSchema;
  /** Other versions whose objects look the same. */
  readonly aliases?: readonly string[];
}

/** What a request's value is read with. */
export interface ReadOptions {
  readonly validation: FieldValidation;
  /** Keys given twice, from the parser. */
  readonly duplicates: readonly FieldError[];
  readonly warn: (text: string) => void;
  /** Takes what makes the object invalid without keeping it from being read, to be told along with other faults;
   *  without it such an object is refused at once. */
  readonly words?: FieldError[];
}

/** A client that ignores the first hundred ignores the rest. */
const MAX_STRICT_FAULTS = 100;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `unknown field "spec.foo"` or `duplicate field "spec.foo"`. */
const strictText = ({ kind, field }: FieldError): string =>
  `${kind === 'FieldValueDuplicate' ? 'duplicate' : 'unknown'} field ${JSON.stringify(field)}`;

/** The texts of what `Strict` refuses, each once. */
function strictTexts(duplicates: readonly FieldError[], unknown: readonly FieldError[]): readonly string[] {
  if (duplicates.length === 0 && unknown.length === 0) return [];
  return [...new Set([...duplicates, ...unknown].map(strictText))].slice(0, MAX_STRICT_FAULTS);
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.lastIndexOf('/') + 1);

const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';

function cannotBeHandled({ apiVersion, kind }: TypeMeta, target: TypeMeta, why: string): StatusError {
  const version = JSON.stringify(versionOf(apiVersion));
  return new StatusError(
    'BadRequest',
    `${kind} in version ${version} cannot be handled as a ${target.kind}: ${why}`,
  );
}

/** The value with the kind and version of the endpoint, which it may leave out but not contradict.
 *  @throws StatusError BadRequest */
function withTypeMeta(value: unknown, target: BodyTarget): Readonly<Record<string, unknown>> {
  if (!isObject(value)) {
    throw new StatusError(
      'BadRequest',
      `the object provided is unrecognized (must be of type ${target.kind}): couldn't get version/kind; it is no object`,
    );
  }
  const given = textOf(value['apiVersion']) || target.apiVersion;
  const apiVersion = target.aliases?.includes(given) === true ? target.apiVersion : given;
  const kind = textOf(value['kind']) || target.kind;
  if (kind !== target.kind) {
    throw cannotBeHandled({ apiVersion, kind }, target, `no kind ${JSON.stringify(kind)} is expected here`);
  }
  if (apiVersion !== target.apiVersion) {
    throw new StatusError(
      'BadRequest',
      `the API version in the data (${apiVersion}) does not match the expected API version (${target.apiVersion})`,
    );
  }
  return value['apiVersion'] === apiVersion && value['kind'] === kind
    ? value
    : { ...value, kind, apiVersion };
}

/** Only words that the schema does not have: the object can be read, but is not valid. */
const onlyWords = (errors: readonly FieldError[]): boolean =>
  errors.every(({ kind }) => kind === 'FieldValueNotSupported');

/** @throws StatusError Invalid if the object can be read, else what `unreadable` makes */
function checkFaults(
  { errors, object }: DecodedObject,
  { kind, apiVersion }: TypeMeta,
  { words }: ReadOptions,
  unreadable: (why: string) => StatusError,
): void {
  if (errors.length === 0) return;
  if (onlyWords(errors)) {
    if (words !== undefined) return void words.push(...errors);
    throw invalid({ group: groupOf(apiVersion), name: kind }, object.metadata.name ?? '', errors);
  }
  throw unreadable(errors.map(formatFieldError).join(', '));
}

function handleStrict(
  texts: readonly string[],
  { validation, warn }: ReadOptions,
  refuse: (why: string) => StatusError,
): void {
  if (validation === 'Ignore' || texts.length === 0) return;
  if (validation === 'Strict') throw refuse(`strict decoding error: ${texts.join(', ')}`);
  for (const text of texts) warn(text);
}

/** The object that a body holds.
 *  @throws StatusError BadRequest or Invalid */
export function readObjectValue(value: unknown, target: BodyTarget, options: ReadOptions): ApiObject {
  const decoded = target.schema.decode(withTypeMeta(value, target));
  const refuse = (why: string): StatusError => cannotBeHandled(target, target, why);
  checkFaults(decoded, target, options, refuse);
  handleStrict(strictTexts(options.duplicates, decoded.unknown), options, refuse);
  return decoded.object;
}

/** A patched object, checked as a body is; what is wrong with it is the patch's fault. `known`: what was patched, if
 *  what is left of it may be taken as it is.
 *  @throws StatusError Invalid, or BadRequest if it became another kind */
export function readPatchedValue(
  value: unknown,
  target: BodyTarget,
  options: ReadOptions,
  known?: ApiObject,
): ApiObject {
  const decoded = target.schema.decode(withTypeMeta(value, target), known);
  const subject = { group: groupOf(target.apiVersion), name: target.kind };
  const refuse = (detail: string): StatusError =>
    invalid(subject, decoded.object.metadata.name ?? '', [
      { kind: 'FieldValueInvalid', field: 'patch', detail },
    ]);
  checkFaults(decoded, target, options, refuse);
  handleStrict(strictTexts(options.duplicates, decoded.unknown), options, refuse);
  return decoded.object;
}

/** What is to be done about keys that a patch has twice.
 *  @throws StatusError BadRequest */
export function checkDuplicates(options: ReadOptions): void {
  handleStrict(strictTexts(options.duplicates, []), options, (why) => new StatusError('BadRequest', why));
}
