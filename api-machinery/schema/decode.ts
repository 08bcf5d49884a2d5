/** From an unknown JSON value to an API object: every member is checked against the schema, every fault is
 *  reported with its path, and values get their canonical form. Pure; the input is not changed. On the path of
 *  every write: no text of a path is built before there is a fault. */

import { formatPath, type PathElement } from '../codec/limits.ts';
import { setMember } from '../codec/set-member.ts';
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
  /** Whose member names the value has, and the result gets. Default our own. */
  readonly vocabulary?: Vocabulary;
  /** Path at which the value stands; default none. */
  readonly path?: readonly PathElement[];
  /** What to do with members that the type does not have. Either way they are left out of the result.
   *  Default `report`. */
  readonly unknownFields?: 'report' | 'ignore';
  /** What to do where a required member is absent; it gets its type's zero value either way. Default `report`. */
  readonly missingFields?: 'report' | 'ignore';
  /** What to do with members that hold nothing. `canonical`: the result has those that upstream's types print, such
   *  as a container's `resources`, and none of the others, such as empty labels, whatever the value has: clients that
   *  write a type's zero values and clients that leave them out mean the same. Times are absent where they are zero.
   *  Default `keep`. */
  readonly emptyFields?: 'keep' | 'canonical';
  /** What such a decoding gave before: structures that the value has from it, itself, stand in the result as they are. */
  readonly known?: object;
}

export interface Decoded<T> {
  /** Complete in shape even where there are errors: what could not be decoded is absent or zero. */
  readonly value: T;
  readonly errors: readonly FieldError[];
}

/** Above any depth that the codecs let through; ends values that contain themselves. */
const MAX_DEPTH = 200;
/** Nobody reads more; one large body must not take long to be refused. */
const MAX_FAULTS = 200;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

class Decoder {
  readonly errors: FieldError[] = [];
  readonly #path: PathElement[];
  readonly #options: DecodeOptions;
  readonly #thorough: boolean;
  readonly #canonical: boolean;
  readonly #known: Readonly<Record<string, unknown>> | undefined;
  #hidden = false;

  constructor(options: DecodeOptions, thorough: boolean) {
    this.#options = options;
    this.#thorough = thorough;
    this.#canonical = options.emptyFields === 'canonical';
    this.#path = options.path === undefined ? [] : [...options.path];
    this.#known = isObject(options.known) ? options.known : undefined;
  }

  #report(kind: FieldErrorKind, detail: string, badValue?: unknown): undefined {
    if (this.errors.length >= MAX_FAULTS) return undefined;
    const shown = this.#hidden || badValue === undefined || typeof badValue === 'object' ? {} : { badValue };
    this.errors.push({ kind, field: formatPath(this.#path), detail, ...shown });
    return undefined;
  }

  decode(plan: ValuePlan, value: unknown): unknown {
    switch (plan.kind) {
      case 'scalar':
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
    // Most of what there is: needs neither a result object nor a look at the rules.
    if (typeof value === 'string' && (scalar === 'string' || isQuantityDone(scalar, value))) return value;
    const result = decodeScalar(scalar, value);
    if (result.ok) return result.value;
    return this.#report(result.type ? 'FieldValueTypeInvalid' : 'FieldValueInvalid', result.detail, value);
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
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      this.#path.push(index);
      let decoded: unknown;
      if (item === null && isFreeForm(element)) decoded = null;
      else if (item === null) this.#report('FieldValueTypeInvalid', 'list item must not be null');
      else decoded = this.decode(element, item);
      this.#path.pop();
      // Keeps the index of every other item, so that later errors have the right path.
      result.push(decoded === undefined ? this.#zero(element) : decoded);
    }
    return result;
  }

  #map(element: ValuePlan, ofText: boolean, value: unknown): unknown {
    if (!isObject(value)) {
      return this.#report('FieldValueTypeInvalid', `must be an object, not ${describe(value)}`, value);
    }
    if (this.#tooDeep()) return undefined;
    const result: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      // An empty value in YAML (`key:`) is the empty text, as in the field.
      const given = ofText && value[key] === null ? '' : value[key];
      this.#path.push(key);
      const decoded = this.decode(element, given);
      this.#path.pop();
      if (decoded !== undefined) setMember(result, key, decoded);
    }
    return result;
  }

  #struct(plan: StructPlan, value: unknown): unknown {
    if (!isObject(value)) {
      return this.#report('FieldValueTypeInvalid', `must be an object, not ${describe(value)}`, value);
    }
    if (this.#tooDeep()) return undefined;
    return this.#thorough ? this.#structInOrder(plan, value) : this.#structAsGiven(plan, value);
  }

  /** Looks at what is there rather than at all that could be. Where something is wrong `decode`
   *  starts anew, to give the faults in the order of the type's members. */
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
    let decoded = this.decode(value, given);
    if (member.words !== undefined && decoded !== undefined) this.#checkWords(member.words, decoded);
    this.#hidden = outer;
    this.#path.pop();
    if (decoded === undefined && member.required) decoded = this.#zero(value);
    if (this.#canonical && member.omitEmpty && isEmptyValue(decoded)) return;
    if (decoded !== undefined) result[name] = decoded;
  }

  #zero(plan: ValuePlan): unknown {
    return zeroValue(plan, this.#canonical);
  }

  /** Whether the result now has the member. */
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
    for (const key of Object.keys(value)) {
      if (plan.members.has(key)) continue;
      if (this.errors.length >= MAX_FAULTS) return;
      this.#path.push(key);
      const hint = didYouMean(key, [...plan.members.keys()]);
      this.#report('FieldUnknown', `${plan.typeName} has no such field${hint}`);
      this.#path.pop();
    }
  }

  #checkWords(supported: readonly string[], value: unknown): void {
    if (value === '' || (typeof value === 'string' && supported.includes(value))) return;
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item !== 'string' || supported.includes(item)) continue;
      const words = supported.map((word) => JSON.stringify(word)).join(', ');
      this.#report(
        'FieldValueNotSupported',
        `supported values: ${words}${didYouMean(item, supported)}`,
        item,
      );
    }
  }

  /** Types with a JSON form of their own that are not shared scalars. */
  #special(form: string, schema: ValuePlan, value: unknown): unknown {
    if (this.#tooDeep()) return undefined;
    const isText = Array.isArray(value) && value.every((item) => typeof item === 'string');
    if (form === 'string-array') return this.#list(TEXT_PLAN, value);
    if (form === 'schema-object|bool' && typeof value === 'boolean') return value;
    if (form === 'schema-object|array' && Array.isArray(value)) return this.#list(schema, value);
    if (form === 'schema-object|string-array' && isText) return value;
    return form.startsWith('schema-object') ? this.decode(schema, value) : value;
  }
}

/** The same members in output order, so that equal objects have equal texts. */
function inOrder(plan: StructPlan, object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const name of plan.members.keys()) {
    const value = object[name];
    if (value !== undefined) result[name] = value;
  }
  return result;
}

/** Any JSON, null included, such as a word of a schema's `enum`. */
const isFreeForm = (plan: ValuePlan): boolean =>
  plan.kind === 'special' && plan.form !== 'string-array' && !plan.form.startsWith('schema-object');

const isQuantityDone = (scalar: Scalar, value: string): boolean =>
  (scalar === 'Quantity' || scalar === 'QuantityValue') && isCanonicalQuantity(value);

/** Decodes a value as the type named, such as `core/v1.Pod`; `T` is that type in `gen/`. Null counts as absent,
 *  closed sets of words are enforced, quantities, times and base64 get their canonical text.
 *  @throws UnknownTypeError if there is no such type */
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
