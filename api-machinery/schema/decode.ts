/** Decoder from an unknown JSON value to an API object: validates every member against the schema, reports
 *  every error with its path, and converts values to their canonical form. Pure; does not change its input.
 *  On the path of every write: no path text is built before there is an error. */

import { formatPath, type PathElement } from '../codec/limits.ts';
import type { MemberNames } from '../codec/member-names.ts';
import { setMember } from '../codec/set-member.ts';
import { Later } from '../kit/later.ts';
import { isObject } from '../kit/object.ts';
import type { Steps } from '../kit/steps.ts';
import type { FieldError, FieldErrorKind } from '../meta/field-error.ts';
import { VOCABULARIES, type Vocabulary } from '../vocabulary.ts';
import {
  isEmptyValue,
  type MemberPlan,
  planOf,
  type StructPlan,
  TEXT_PLAN,
  type ValuePlan,
  zeroValue,
} from './decode-plan.ts';
import { decodeScalar, describe, isCanonicalQuantity } from './decode-scalar.ts';
import type { Scalar } from './registry.ts';
import { didYouMean } from './suggestion.ts';

export interface DecodeOptions {
  /** Vocabulary of the member names in the value and the result. Default: the platform's. */
  readonly vocabulary?: Vocabulary;
  /** Path of the value; default none. */
  readonly path?: readonly PathElement[];
  /** Treatment of unknown members. They are always omitted from the result. Default `report`. */
  readonly unknownFields?: 'report' | 'ignore';
  /** Treatment of absent required members. They always get their type's zero value. Default `report`. */
  readonly missingFields?: 'report' | 'ignore';
  /** Treatment of empty members. `canonical`: the result has those that upstream's types print, such as a
   *  container's `resources`, and none of the others, such as empty labels, whatever the value has: objects
   *  of clients that write zero values and of clients that omit them are equal. Zero times are absent.
   *  Default `keep`. */
  readonly emptyFields?: 'keep' | 'canonical';
  /** Result of an earlier decoding: structures that the value shares with it by identity are taken over
   *  unchanged. */
  readonly known?: object;
  /** Names of members of objects in the value that have very many. */
  readonly names?: MemberNames;
  /** Length at which `decodeInSteps` gives up: a lower bound of that of the result, both in protobuf and as JSON text
   *  without its escapes. Default: any. */
  readonly maxLength?: number;
}

/** The result would be longer than the caller takes. */
export class DecodedTooLong extends Error {
  override readonly name = 'DecodedTooLong';
  readonly maxLength: number;
  constructor(maxLength: number) {
    super(`more than ${maxLength} bytes`);
    this.maxLength = maxLength;
  }
}

export interface Decoded<T> {
  /** Complete in shape even if there are errors: members that could not be decoded are absent or zero. */
  readonly value: T;
  readonly errors: readonly FieldError[];
}

/** Above any depth that the codecs accept; stops at values that contain themselves. */
const MAX_DEPTH = 200;
/** More errors would not be read; rejecting a large body must not take long. */
const MAX_ERRORS = 200;

class Decoder {
  readonly errors: FieldError[] = [];
  #path: PathElement[];
  readonly #options: DecodeOptions;
  readonly #thorough: boolean;
  readonly #canonical: boolean;
  readonly #known: Readonly<Record<string, unknown>> | undefined;
  #hidden = false;
  #later: Later | undefined;
  /** The list or object whose members were taken last, now or later. */
  #putOff: unknown = undefined;
  /** Of what was decoded so far; counted in slices only, and rather too short. */
  #length = 0;
  readonly #maxLength: number;
  readonly #names: MemberNames | undefined;

  constructor(options: DecodeOptions, thorough: boolean, later?: Later) {
    this.#options = options;
    this.#later = later;
    this.#thorough = thorough;
    this.#canonical = options.emptyFields === 'canonical';
    this.#path = options.path === undefined ? [] : [...options.path];
    this.#known = isObject(options.known) ? options.known : undefined;
    this.#names = options.names;
    this.#maxLength = options.maxLength ?? Number.POSITIVE_INFINITY;
  }

  /** @throws DecodedTooLong */
  #lengthen(length: number): void {
    this.#length += length;
    if (this.#length > this.#maxLength) throw new DecodedTooLong(this.#maxLength);
  }

  /** Whatever else the value has does not matter: it cannot be decoded, or is decoded again. */
  isEnough(): boolean {
    if (!this.#thorough) return this.errors.length > 0;
    return this.errors.length >= MAX_ERRORS && this.errors.some(({ kind }) => UNUSABLE.has(kind));
  }

  #report(kind: FieldErrorKind, detail: string, badValue?: unknown): undefined {
    if (this.errors.length >= MAX_ERRORS) return undefined;
    const shown = this.#hidden || badValue === undefined || typeof badValue === 'object' ? {} : { badValue };
    this.errors.push({ kind, field: formatPath(this.#path), detail, ...shown });
    return undefined;
  }

  decode(plan: ValuePlan, value: unknown): unknown {
    switch (plan.kind) {
      case 'scalar':
        this.#measure(value);
        return this.#scalar(plan.scalar, value);
      case 'struct':
        return this.#struct(plan, value);
      case 'list':
        return this.#list(plan.element, value);
      case 'map':
        return this.#map(plan.element, plan.ofText, value);
      case 'special':
        return this.#special(plan.form, plan.schema, value);
      default:
        return plan satisfies never;
    }
  }

  #scalar(scalar: Scalar, value: unknown): unknown {
    // The common case: needs neither a result object nor the rules.
    if (typeof value === 'string' && (scalar === 'string' || isQuantityDone(scalar, value))) return value;
    const result = decodeScalar(scalar, value);
    if (result.ok) return result.value;
    // Such a number may differ from the written one.
    const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
    const kind = result.type ? 'FieldValueTypeInvalid' : 'FieldValueInvalid';
    return this.#report(kind, result.detail, isRounded ? undefined : value);
  }

  #tooDeep(): boolean {
    if (this.#path.length <= MAX_DEPTH) return false;
    this.#report('FieldValueInvalid', 'nested too deeply');
    return true;
  }

  #list(element: ValuePlan, value: unknown): unknown {
    if (!Array.isArray(value)) {
      return this.#report('FieldValueTypeInvalid', `must be a list, not ${describe(value)}`, value);
    }
    if (this.#tooDeep()) return undefined;
    const items: readonly unknown[] = value;
    const result: unknown[] = [];
    if (this.#later === undefined) {
      for (let index = 0; index < items.length; index += 1)
        result.push(this.#item(element, items[index], index));
      return result;
    }
    const here = this.#here();
    this.#later.each(items, (item, index) => {
      this.#lengthen(lengthOf(element, item));
      here(() => result.push(this.#item(element, item, index)));
    });
    if (items.length > 0) this.#putOff = items;
    return result;
  }

  /** Does what is done later at the place that this is now. */
  #here(): (work: () => void) => void {
    const path = [...this.#path];
    const hidden = this.#hidden;
    return (work) => {
      const outer = { path: this.#path, hidden: this.#hidden };
      this.#path = path;
      this.#hidden = hidden;
      work();
      this.#path = outer.path;
      this.#hidden = outer.hidden;
    };
  }

  #item(element: ValuePlan, item: unknown, index: number): unknown {
    this.#path.push(index);
    let decoded: unknown;
    if (item === null && isFreeForm(element)) decoded = null;
    else if (item === null) this.#report('FieldValueTypeInvalid', 'list item must not be null');
    else decoded = this.decode(element, item);
    this.#path.pop();
    // Keeps the index of every other item, so that later errors have the right path.
    return decoded === undefined ? this.#zero(element) : decoded;
  }

  #map(element: ValuePlan, ofText: boolean, value: unknown): unknown {
    if (!isObject(value)) {
      return this.#report('FieldValueTypeInvalid', `must be an object, not ${describe(value)}`, value);
    }
    if (this.#tooDeep()) return undefined;
    const result: Record<string, unknown> = {};
    const entry = (key: string): void => {
      // An empty value in YAML (`key:`) is the empty text, as in the field.
      const given = ofText && value[key] === null ? '' : value[key];
      this.#path.push(key);
      const decoded = this.decode(element, given);
      this.#path.pop();
      if (decoded !== undefined) setMember(result, key, decoded);
    };
    if (this.#later === undefined) for (const key of Object.keys(value)) entry(key);
    else {
      const here = this.#here();
      const names = this.#namesOf(value);
      this.#later.each(names, (key) => {
        this.#lengthen(key.length + MEMBER_LENGTH + lengthOf(element, value[key]));
        here(() => entry(key));
      });
      if (names.length > 0) this.#putOff = value;
    }
    return result;
  }

  #namesOf(value: Readonly<Record<string, unknown>>): readonly string[] {
    return this.#names?.of(value) ?? Object.keys(value);
  }

  #struct(plan: StructPlan, value: unknown): unknown {
    if (!isObject(value)) {
      return this.#report('FieldValueTypeInvalid', `must be an object, not ${describe(value)}`, value);
    }
    if (this.#tooDeep()) return undefined;
    const isWide = this.#names?.known(value) !== undefined;
    return this.#thorough || isWide ? this.#structInOrder(plan, value) : this.#structAsGiven(plan, value);
  }

  /** Iterates over the members of the value instead of those of the type. On an error `decode` starts over,
   *  to report the errors in the order of the type's members. */
  #structAsGiven(plan: StructPlan, value: Readonly<Record<string, unknown>>): unknown {
    const result: Record<string, unknown> = {};
    const { members } = plan;
    const known = this.#path.length === 0 ? this.#known : undefined;
    let last = -1;
    let ordered = true;
    for (const key in value) {
      const member = members.get(key);
      if (member === undefined) {
        if (this.#options.unknownFields !== 'ignore') this.#report('FieldUnknown', '');
        continue;
      }
      const given = value[key];
      if (given === null || given === undefined) continue;
      if (member.index < last) ordered = false;
      last = member.index;
      if (known !== undefined && typeof given === 'object' && given === known[key]) result[key] = given;
      else this.#member(member, given, result);
    }
    for (const member of this.#canonical ? plan.present : plan.required) {
      const given = value[member.name];
      if (given !== undefined && given !== null) continue;
      if (this.#missing(member, result)) ordered = false;
    }
    return ordered ? result : inOrder(plan, result);
  }

  #structInOrder(plan: StructPlan, value: Readonly<Record<string, unknown>>): unknown {
    const result: Record<string, unknown> = {};
    for (const member of plan.members.values()) {
      const given = Object.hasOwn(value, member.name) ? value[member.name] : undefined;
      if (given !== undefined && given !== null) this.#member(member, given, result);
      else if (member.required || (this.#canonical && member.present)) this.#missing(member, result);
    }
    if (this.#options.unknownFields !== 'ignore') this.#unknown(plan, value);
    return result;
  }

  #member(member: MemberPlan, given: unknown, result: Record<string, unknown>): void {
    const { name, value } = member;
    this.#path.push(name);
    const outer = this.#hidden;
    if (member.hidden) this.#hidden = true;
    const later = this.#later;
    // The check of an enumeration needs the whole value, so none of it may be deferred.
    if (member.enumeration !== undefined) this.#later = undefined;
    let decoded = this.decode(value, given);
    this.#later = later;
    if (member.enumeration !== undefined && decoded !== undefined)
      this.#checkEnumeration(member.enumeration, decoded);
    this.#hidden = outer;
    this.#path.pop();
    if (decoded === undefined && member.required) decoded = this.#zero(value);
    if (this.#canonical && member.omitEmpty && isEmptyValue(decoded) && !this.#isPutOff(given)) return;
    if (decoded === undefined) return;
    if (later !== undefined) this.#lengthen(lengthOf(value, decoded));
    result[name] = decoded;
  }

  /** Reports whether decoding is deferred: the value may look empty so far, but is not. */
  #isPutOff(given: unknown): boolean {
    return this.#later !== undefined && this.#putOff === given;
  }

  #zero(plan: ValuePlan): unknown {
    return zeroValue(plan, this.#canonical);
  }

  /** Returns whether the result now has the member. */
  #missing(member: MemberPlan, result: Record<string, unknown>): boolean {
    if (member.required && this.#options.missingFields !== 'ignore') {
      this.#path.push(member.name);
      this.#report('FieldValueRequired', '');
      this.#path.pop();
    }
    const zero = this.#zero(member.value);
    if (zero === undefined) return false;
    result[member.name] = zero;
    return true;
  }

  #unknown(plan: StructPlan, value: Readonly<Record<string, unknown>>): void {
    for (const key of this.#namesOf(value)) {
      if (plan.members.has(key)) continue;
      if (this.errors.length >= MAX_ERRORS) return;
      this.#path.push(key);
      const hint = didYouMean(key, [...plan.members.keys()]);
      this.#report('FieldUnknown', `${plan.typeName} has no such field${hint}`);
      this.#path.pop();
    }
  }

  #checkEnumeration(supported: readonly string[], value: unknown): void {
    if (value === '' || (typeof value === 'string' && supported.includes(value))) return;
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item !== 'string' || supported.includes(item)) continue;
      const texts = supported.map((text) => JSON.stringify(text)).join(', ');
      this.#report(
        'FieldValueNotSupported',
        `supported values: ${texts}${didYouMean(item, supported)}`,
        item,
      );
    }
  }

  /** Decodes types with a JSON form of their own that are not shared scalars. */
  #special(form: string, schema: ValuePlan, value: unknown): unknown {
    if (this.#tooDeep()) return undefined;
    const isText = Array.isArray(value) && value.every((item) => typeof item === 'string');
    if (form === 'string-array') return this.#list(TEXT_PLAN, value);
    if (form === 'schema-object|bool' && typeof value === 'boolean') return value;
    if (form === 'schema-object|array' && Array.isArray(value)) return this.#list(schema, value);
    if (form === 'schema-object|string-array' && isText) return value;
    if (form.startsWith('schema-object')) return this.decode(schema, value);
    this.#measure(value);
    return value;
  }

  /** Counts what is taken as it is. */
  #measure(value: unknown): void {
    if (this.#later === undefined || typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      this.#later.each(value, (item) => {
        this.#lengthen(1 + jsonLengthOf(item));
        this.#measure(item);
      });
    } else if (isObject(value)) {
      this.#later.each(this.#namesOf(value), (name) => {
        this.#lengthen(name.length + MEMBER_LENGTH + jsonLengthOf(value[name]));
        this.#measure(value[name]);
      });
    }
  }
}

/** Quotes, colon and comma; in protobuf the tags and lengths of an entry of a map and its key. */
const MEMBER_LENGTH = 4;
/** A tag and a length or number; in JSON brackets or quotes, or a character and a comma. */
const VALUE_LENGTH = 2;

/** Of a value at least, without what is in it. */
function lengthOf(plan: ValuePlan, value: unknown): number {
  if (plan.kind === 'list' || plan.kind === 'map') return 0;
  if (plan.kind !== 'scalar' || typeof value !== 'string') return VALUE_LENGTH;
  if (plan.scalar === 'string') return VALUE_LENGTH + value.length;
  // Base64 may have padding and line ends.
  return plan.scalar === 'bytes' ? VALUE_LENGTH + Math.floor(value.length * 0.7) : VALUE_LENGTH;
}

/** Of JSON text at least, without what is in it: one bracket stands for the last comma, which is not there. */
const jsonLengthOf = (value: unknown): number => (typeof value === 'string' ? value.length + 2 : 1);

const UNUSABLE: ReadonlySet<FieldErrorKind> = new Set<FieldErrorKind>([
  'FieldValueTypeInvalid',
  'FieldValueInvalid',
]);

/** Returns the members in output order, so that equal objects have equal texts. */
function inOrder(plan: StructPlan, object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const name of plan.members.keys()) {
    const value = object[name];
    if (value !== undefined) result[name] = value;
  }
  return result;
}

/** Accepts any JSON, null included, such as an item of a schema's `enum`. */
const isFreeForm = (plan: ValuePlan): boolean =>
  plan.kind === 'special' && plan.form !== 'string-array' && !plan.form.startsWith('schema-object');

const isQuantityDone = (scalar: Scalar, value: string): boolean =>
  (scalar === 'Quantity' || scalar === 'QuantityValue') && isCanonicalQuantity(value);

/** Decodes a value as the named type, such as `core/v1.Pod`; `T` is that type in `gen/`. Null counts as
 *  absent, enums are enforced, quantities, times and base64 get their canonical text.
 *  @throws UnknownTypeError if the type does not exist */
export function decode<T>(typeRef: string, value: unknown, options: DecodeOptions = {}): Decoded<T> {
  const plan = planOf(typeRef, options.vocabulary ?? VOCABULARIES.plat);
  let decoder = new Decoder(options, false);
  let decoded = decoder.decode(plan, value);
  if (decoder.errors.length > 0) {
    decoder = new Decoder(options, true);
    decoded = decoder.decode(plan, value);
  }
  decoded ??= zeroValue(plan, options.emptyFields === 'canonical');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `gen/` and the decoder come from one table
  return { value: decoded as T, errors: decoder.errors };
}

/** The same, of a large value, in short steps. Where there are several errors they may stand in another order.
 *  @throws UnknownTypeError if there is no such type, DecodedTooLong */
export function* decodeInSteps<T>(
  typeRef: string,
  value: unknown,
  options: DecodeOptions = {},
): Steps<Decoded<T>> {
  const plan = planOf(typeRef, options.vocabulary ?? VOCABULARIES.plat);
  let decoder: Decoder | undefined;
  let decoded: unknown;
  for (const thorough of [false, true]) {
    const later = new Later();
    decoder = new Decoder(options, thorough, later);
    decoded = decoder.decode(plan, value);
    for (const _ of later.steps()) {
      if (decoder.isEnough()) break;
      yield;
    }
    if (decoder.errors.length === 0) break;
    yield;
  }
  decoded ??= zeroValue(plan, options.emptyFields === 'canonical');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `gen/` and the decoder come from one table
  return { value: decoded as T, errors: decoder?.errors ?? [] };
}
