/** From an unknown JSON value to an API object: every member is checked against the schema, every fault is
 *  reported with its path, and values get their canonical form. Pure; the input is not changed. */

import { setMember } from '../codec/json.ts';
import { formatPath, type PathElement } from '../codec/limits.ts';
import type { FieldError, FieldErrorKind } from '../meta/field-error.ts';
import { decodeScalar, describe } from './decode-scalar.ts';
import {
  isRequired,
  type JsonField,
  jsonFields,
  parseTypeName,
  type Scalar,
  shapeOf,
  type TypeName,
  typeOf,
} from './registry.ts';
import { didYouMean } from './suggestion.ts';

export interface DecodeOptions {
  /** Path at which the value stands; default none. */
  readonly path?: readonly PathElement[];
  /** What to do with members that the type does not have. Either way they are left out of the result.
   *  Default `report`. */
  readonly unknownFields?: 'report' | 'ignore';
  /** What to do where a required member is absent; it gets its type's zero value either way. Default `report`. */
  readonly missingFields?: 'report' | 'ignore';
}

export interface Decoded<T> {
  /** Complete in shape even where there are errors: what could not be decoded is absent or zero. */
  readonly value: T;
  readonly errors: readonly FieldError[];
}

/** Members whose value never appears in an error. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['Secret.data', 'Secret.stringData', 'EnvVar.value']);
/** Above any depth that the codecs let through; ends schemas that contain themselves. */
const MAX_DEPTH = 200;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

class Decoder {
  readonly errors: FieldError[] = [];
  readonly #path: PathElement[];
  readonly #options: DecodeOptions;
  #hidden = false;

  constructor(options: DecodeOptions) {
    this.#options = options;
    this.#path = [...(options.path ?? [])];
  }

  #report(kind: FieldErrorKind, detail: string, badValue?: unknown): undefined {
    const shown = this.#hidden || badValue === undefined || typeof badValue === 'object' ? {} : { badValue };
    this.errors.push({ kind, field: formatPath(this.#path), detail, ...shown });
    return undefined;
  }

  #at<T>(element: PathElement, work: () => T): T {
    this.#path.push(element);
    const result = work();
    this.#path.pop();
    return result;
  }

  decode(type: string, packageName: string, value: unknown): unknown {
    if (this.#path.length > MAX_DEPTH) return this.#report('FieldValueInvalid', 'nested too deeply');
    const shape = shapeOf(type, packageName);
    switch (shape.kind) {
      case 'scalar':
        return this.#scalar(shape.scalar, value);
      case 'list':
        return this.#list(shape.element, packageName, value);
      case 'map':
        return this.#map(shape.element, packageName, value);
      case 'struct':
        return this.struct(shape.name, value);
      default:
        return shape satisfies never;
    }
  }

  #scalar(scalar: Scalar, value: unknown): unknown {
    const result = decodeScalar(scalar, value);
    if (result.ok) return result.value;
    return this.#report(result.type ? 'FieldValueTypeInvalid' : 'FieldValueInvalid', result.detail, value);
  }

  #list(element: string, packageName: string, value: unknown): unknown {
    if (!Array.isArray(value)) {
      return this.#report('FieldValueTypeInvalid', `must be a list, not ${describe(value)}`, value);
    }
    const items: readonly unknown[] = value;
    return items.flatMap((item, index) =>
      this.#at(index, () => {
        if (item === null) this.#report('FieldValueTypeInvalid', 'list item must not be null');
        const decoded = item === null ? undefined : this.decode(element, packageName, item);
        // Keeps the index of every other item, so that later errors have the right path.
        return [decoded ?? zeroValue(element, packageName)];
      }),
    );
  }

  #map(element: string, packageName: string, value: unknown): unknown {
    if (!isObject(value)) {
      return this.#report('FieldValueTypeInvalid', `must be an object, not ${describe(value)}`, value);
    }
    const result: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(value)) {
      // An empty value in YAML (`key:`) is the empty text, as in the field.
      const given = member === null && (element === 'string' || element === 'bytes') ? '' : member;
      const decoded = this.#at(key, () => this.decode(element, packageName, given));
      if (decoded !== undefined) setMember(result, key, decoded);
    }
    return result;
  }

  struct(name: TypeName, value: unknown): unknown {
    const fact = typeOf(name);
    if (fact.jsonForm !== undefined) return this.#special(fact.jsonForm, name, value);
    if (!isObject(value)) {
      return this.#report('FieldValueTypeInvalid', `must be an object, not ${describe(value)}`, value);
    }
    const result: Record<string, unknown> = {};
    const fields = jsonFields(name);
    const known = fields.map((field) => field.json);
    if (fact.kind === true) {
      known.push('apiVersion', 'kind');
      for (const member of ['apiVersion', 'kind']) this.#typeMember(result, member, value[member]);
    }
    for (const field of fields) this.#field(name, field, result, value);
    for (const key of Object.keys(value)) {
      if (!known.includes(key) && this.#options.unknownFields !== 'ignore') {
        this.#at(key, () =>
          this.#report('FieldUnknown', `${name.typeName} has no such field${didYouMean(key, known)}`),
        );
      }
    }
    return result;
  }

  #typeMember(result: Record<string, unknown>, member: string, value: unknown): void {
    if (value === undefined || value === null) return;
    const decoded = this.#at(member, () => this.#scalar('string', value));
    if (decoded !== undefined) result[member] = decoded;
  }

  #field(
    owner: TypeName,
    field: JsonField,
    result: Record<string, unknown>,
    value: Readonly<Record<string, unknown>>,
  ): void {
    const { json, type, packageName } = field;
    const given = Object.hasOwn(value, json) ? value[json] : undefined;
    this.#at(json, () => {
      let decoded: unknown;
      if (given !== undefined && given !== null) {
        const outer = this.#hidden;
        this.#hidden = outer || SECRET_FIELDS.has(`${owner.typeName}.${json}`);
        decoded = this.#checkEnum(field, this.decode(type, packageName, given));
        this.#hidden = outer;
      } else if (isRequired(field) && this.#options.missingFields !== 'ignore') {
        this.#report('FieldValueRequired', '');
      }
      decoded ??= isRequired(field) ? zeroValue(type, packageName) : undefined;
      if (decoded !== undefined) result[json] = decoded;
    });
  }

  #checkEnum(field: JsonField, value: unknown): unknown {
    const supported = field.enum;
    if (supported === undefined || value === undefined || value === '') return value;
    const bad = (Array.isArray(value) ? value : [value]).filter(
      (item: unknown): item is string => typeof item === 'string' && !supported.includes(item),
    );
    for (const item of bad) {
      const words = supported.map((word) => JSON.stringify(word)).join(', ');
      this.#report(
        'FieldValueNotSupported',
        `supported values: ${words}${didYouMean(item, supported)}`,
        item,
      );
    }
    return value;
  }

  /** Types with a JSON form of their own that are not shared scalars. */
  #special(form: string, name: TypeName, value: unknown): unknown {
    const own = `${name.packageName}.JSONSchemaProps`;
    const isText = Array.isArray(value) && value.every((item) => typeof item === 'string');
    if (form === 'string-array') return this.#list('string', name.packageName, value);
    if (form === 'schema-object|bool' && typeof value === 'boolean') return value;
    if (form === 'schema-object|array' && Array.isArray(value))
      return this.#list(own, name.packageName, value);
    if (form === 'schema-object|string-array' && isText) return value;
    return form.startsWith('schema-object') ? this.decode(own, name.packageName, value) : value;
  }
}

/** What stands for an absent value of a type that must not be absent. */
function zeroValue(type: string, packageName: string): unknown {
  const shape = shapeOf(type, packageName);
  if (shape.kind === 'list') return [];
  if (shape.kind === 'map') return {};
  if (shape.kind === 'struct') {
    const required = jsonFields(shape.name).filter(isRequired);
    return Object.fromEntries(
      required.map((field) => [field.json, zeroValue(field.type, field.packageName)]),
    );
  }
  return ZERO_SCALARS.get(shape.scalar);
}

const ZERO_SCALARS: ReadonlyMap<Scalar, unknown> = new Map<Scalar, unknown>([
  ['string', ''],
  ['bytes', ''],
  ['bool', false],
  ['int32', 0],
  ['int64', 0],
  ['uint32', 0],
  ['uint64', 0],
  ['float', 0],
  ['double', 0],
  ['Quantity', '0'],
  ['QuantityValue', '0'],
  ['IntOrString', 0],
  ['Duration', '0s'],
]);

/** Decodes a value as the type named, such as `core/v1.Pod`; `T` is that type in `gen/`. Null counts as absent,
 *  closed sets of words are enforced, quantities, times and base64 get their canonical text.
 *  @throws UnknownTypeError if there is no such type */
export function decode<T>(typeRef: string, value: unknown, options: DecodeOptions = {}): Decoded<T> {
  const decoder = new Decoder(options);
  const name = parseTypeName(typeRef);
  const decoded = decoder.struct(name, value) ?? zeroValue(typeRef, name.packageName);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `gen/` and the decoder come from one table
  return { value: decoded as T, errors: decoder.errors };
}
