/** Decodes a body's value to an object of the endpoint's kind, with upstream's error messages. The client
 *  chooses the strictness (`fieldValidation`). Source: media types and field validation, document 1 §4.7. */

import type { MemberNames } from '#api/codec/member-names.ts';
import { setMember } from '#api/codec/set-member.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import type { TypeMeta } from '#api/protobuf/envelope.ts';
import type { ApiObject, DecodedObject, ObjectSchema } from '../resources/contract.ts';
import { decodeLarge } from '../resources/decode-large.ts';

/** `Ignore`: drop unknown fields. `Warn`: drop them with a warning. `Strict`: reject them. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** The expected kind of a body. */
export interface BodyTarget extends TypeMeta {
  readonly schema: ObjectSchema;
  /** Other versions with the same object format. */
  readonly aliases?: readonly string[];
}

/** Options for decoding a request's value. */
export interface ReadOptions {
  readonly validation: FieldValidation;
  /** Duplicate keys, from the parser. */
  readonly duplicates: readonly FieldError[];
  readonly warn: (text: string) => void;
  /** Collects errors that make the object invalid but still readable, to be reported with validation errors;
   *  without it such an object is rejected immediately. */
  readonly words?: FieldError[];
  /** Of objects in the value that have very many members. */
  readonly names?: MemberNames | undefined;
}

/** Maximum number of warnings: a client that ignores the first hundred ignores the rest. */
const MAX_STRICT_ERRORS = 100;

/** `unknown field "spec.foo"` or `duplicate field "spec.foo"`. */
const strictText = ({ kind, field }: FieldError): string =>
  `${kind === 'FieldValueDuplicate' ? 'duplicate' : 'unknown'} field ${JSON.stringify(field)}`;

/** Returns the distinct texts of the errors that `Strict` rejects. */
function strictTexts(duplicates: readonly FieldError[], unknown: readonly FieldError[]): readonly string[] {
  if (duplicates.length === 0 && unknown.length === 0) return [];
  return [...new Set([...duplicates, ...unknown].map(strictText))].slice(0, MAX_STRICT_ERRORS);
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

/** Returns the value with the kind and version of the endpoint, which it may omit but not contradict.
 *  @throws StatusError BadRequest */
function withTypeMeta(
  value: unknown,
  target: BodyTarget,
  names?: MemberNames,
): Readonly<Record<string, unknown>> {
  if (!isObject(value)) {
    throw new StatusError(
      'BadRequest',
      `the object provided is unrecognized (must be of type ${target.kind}): couldn't get version/kind; it is not an object`,
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
    : withType(value, kind, apiVersion, names);
}

/** Not by spread, which takes three times as long for a body of hundreds of thousands of members. */
function withType(
  value: Readonly<Record<string, unknown>>,
  kind: string,
  apiVersion: string,
  names: MemberNames | undefined,
): Readonly<Record<string, unknown>> {
  // With so many members it was built for this request alone.
  if (names?.known(value) !== undefined) return Object.assign(value, { kind, apiVersion });
  const typed: Record<string, unknown> = {};
  for (const name in value) setMember(typed, name, value[name]);
  typed['kind'] = kind;
  typed['apiVersion'] = apiVersion;
  return typed;
}

/** Reports whether the errors are only unsupported enum values: the object can be decoded, but is not
 *  valid. */
const onlyWords = (errors: readonly FieldError[]): boolean =>
  errors.every(({ kind }) => kind === 'FieldValueNotSupported');

/** @throws StatusError Invalid if the object can be decoded, else the error that `unreadable` returns */
function checkErrors(
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

/** Returns the object in a body.
 *  @throws StatusError BadRequest or Invalid */
export function* readObjectValue(
  value: unknown,
  target: BodyTarget,
  options: ReadOptions,
  inSlices = false,
): Steps<ApiObject> {
  const { schema } = target;
  const { names } = options;
  const typed = withTypeMeta(value, target, names);
  if (inSlices) yield;
  const decoded = inSlices ? yield* decodeLarge(schema, typed, { names }) : schema.decode(typed);
  const refuse = (why: string): StatusError => cannotBeHandled(target, target, why);
  checkErrors(decoded, target, options, refuse);
  handleStrict(strictTexts(options.duplicates, decoded.unknown), options, refuse);
  return decoded.object;
}

/** Checks a patched object like a body; its errors are those of the patch. `known`: the object before the
 *  patch, if its unchanged parts need no new check.
 *  @throws StatusError Invalid, or BadRequest if its kind changed */
export function* readPatchedValue(
  value: unknown,
  target: BodyTarget,
  options: ReadOptions,
  known?: ApiObject,
  inSlices = false,
): Steps<ApiObject> {
  const { schema } = target;
  const { names } = options;
  const typed = withTypeMeta(value, target, names);
  const decoded = inSlices
    ? yield* decodeLarge(schema, typed, { known, names })
    : schema.decode(typed, known);
  const subject = { group: groupOf(target.apiVersion), name: target.kind };
  const refuse = (detail: string): StatusError =>
    invalid(subject, decoded.object.metadata.name ?? '', [
      { kind: 'FieldValueInvalid', field: 'patch', detail },
    ]);
  checkErrors(decoded, target, options, refuse);
  handleStrict(strictTexts(options.duplicates, decoded.unknown), options, refuse);
  return decoded.object;
}

/** Handles duplicate keys of a patch.
 *  @throws StatusError BadRequest */
export function checkDuplicates(options: ReadOptions): void {
  handleStrict(strictTexts(options.duplicates, []), options, (why) => new StatusError('BadRequest', why));
}
