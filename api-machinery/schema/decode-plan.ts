/** Decoding plans of types, built from the tables once: members by their names on the wire, in output order.
 *  Plans of recursive types are recursive. Pure. */
import { VOCABULARIES, type Vocabulary } from '../vocabulary.ts';
import {
  formatTypeName,
  isRequired,
  type JsonField,
  jsonFields,
  parseTypeName,
  type Scalar,
  shapeOf,
  type TypeName,
  typeOf,
  wireName,
} from './registry.ts';
import { remember } from './remember.ts';

export type ValuePlan =
  | { readonly kind: 'scalar'; readonly scalar: Scalar }
  | { readonly kind: 'list'; readonly element: ValuePlan }
  | {
      readonly kind: 'map';
      readonly element: ValuePlan;
      /** Null is the empty string. */
      readonly ofText: boolean;
    }
  | StructPlan
  /** A JSON form of its own: a list of texts, anything, or a schema in one of several forms. */
  | { readonly kind: 'special'; readonly form: string; readonly schema: ValuePlan };

export interface StructPlan {
  readonly kind: 'struct';
  readonly typeName: string;
  /** In output order; for objects `kind` and `apiVersion` come first. */
  readonly members: ReadonlyMap<string, MemberPlan>;
  /** Required members. */
  readonly required: readonly MemberPlan[];
  /** Members that upstream's types always print: those without omitempty, and structs, which have no empty
   *  value in Go. */
  readonly present: readonly MemberPlan[];
}

export interface MemberPlan {
  readonly name: string;
  /** Place in the output. */
  readonly index: number;
  readonly value: ValuePlan;
  readonly required: boolean;
  /** Omitted from the output if it has its type's zero value. */
  readonly omitEmpty: boolean;
  /** One of the `present`. */
  readonly present: boolean;
  /** Printed as null where it is absent: a time or embedded JSON that is always printed, a list, a pointer. */
  readonly nullable: boolean;
  /** Its value never appears in an error. */
  readonly hidden: boolean;
  readonly enumeration: readonly string[] | undefined;
}

const SECRET_FIELDS: ReadonlySet<string> = new Set(['Secret.data', 'Secret.stringData', 'EnvVar.value']);

export const TEXT_PLAN: ValuePlan = { kind: 'scalar', scalar: 'string' };

const typeMember = (name: string, index: number): MemberPlan => ({
  name,
  index,
  value: TEXT_PLAN,
  required: false,
  omitEmpty: false,
  present: false,
  nullable: false,
  hidden: false,
  enumeration: undefined,
});

function createPlanner(vocabulary: Vocabulary): (name: TypeName) => ValuePlan {
  const plans = new Map<string, ValuePlan>();

  function memberPlan(owner: TypeName, field: JsonField, index: number): MemberPlan {
    const value = valuePlan(field.type, field.packageName);
    return {
      name: wireName(field, vocabulary),
      index,
      value,
      required: isRequired(field),
      omitEmpty: field.omitempty === true && field.ptr !== true && hasEmptyValue(value),
      present: isRequired(field) || isPrinted(field, value),
      nullable: isPrinted(field, value) ? isNil(value) : field.ptr === true && field.omitempty !== true,
      hidden: SECRET_FIELDS.has(`${owner.typeName}.${field.json}`),
      enumeration: field.enum,
    };
  }

  function valuePlan(type: string, packageName: string): ValuePlan {
    const shape = shapeOf(type, packageName);
    switch (shape.kind) {
      case 'scalar':
        return { kind: 'scalar', scalar: shape.scalar };
      case 'list':
        return { kind: 'list', element: valuePlan(shape.element, packageName) };
      case 'map': {
        const ofText = shape.element === 'string' || shape.element === 'bytes';
        return { kind: 'map', element: valuePlan(shape.element, packageName), ofText };
      }
      case 'struct':
        return typePlan(shape.name);
      default:
        return shape satisfies never;
    }
  }

  function typePlan(name: TypeName): ValuePlan {
    const key = formatTypeName(name);
    const known = plans.get(key);
    if (known !== undefined) return known;
    const { jsonForm, kind } = typeOf(name);
    if (jsonForm !== undefined) {
      const schema = jsonForm.startsWith('schema-object')
        ? typePlan({ ...name, typeName: 'JSONSchemaProps' })
        : TEXT_PLAN;
      return { kind: 'special', form: jsonForm, schema };
    }
    const members = new Map<string, MemberPlan>();
    const required: MemberPlan[] = [];
    // Registered before its members are complete: types contain themselves.
    const present: MemberPlan[] = [];
    const plan: StructPlan = { kind: 'struct', typeName: name.typeName, members, required, present };
    plans.set(key, plan);
    const own = kind === true ? ['kind', 'apiVersion'] : [];
    const all = [
      ...own.map(typeMember),
      ...jsonFields(name).map((field, index) => memberPlan(name, field, own.length + index)),
    ];
    for (const member of all) members.set(member.name, member);
    required.push(...all.filter((member) => member.required));
    present.push(...all.filter((member) => member.present));
    return plan;
  }

  return typePlan;
}

const plannerOf = remember((vocabularyName) =>
  createPlanner(VOCABULARIES[vocabularyName === 'kubernetes' ? 'kubernetes' : 'plat']),
);

/** Returns the plan of a type: `planOf('core/v1.Pod', vocabulary)`.
 *  @throws UnknownTypeError */
export function planOf(typeRef: string, vocabulary: Vocabulary): ValuePlan {
  return plannerOf(vocabulary.name)(parseTypeName(typeRef));
}

/** Returns a new zero value for an absent required member. `printed`: with all members that upstream's types
 *  print of such a value, not only the required ones. */
export function zeroValue(plan: ValuePlan, printed = false): unknown {
  switch (plan.kind) {
    case 'scalar':
      return ZERO_SCALARS.get(plan.scalar);
    case 'list':
      return [];
    case 'map':
      return {};
    case 'struct':
      return zeroStruct(printed ? plan.present : plan.required, printed);
    case 'special':
      return plan.form === 'string-array' ? [] : {};
    default:
      return plan satisfies never;
  }
}

function zeroStruct(members: readonly MemberPlan[], printed: boolean): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const { name, value } of members) {
    const zero = zeroValue(value, printed);
    if (zero !== undefined) result[name] = zero;
  }
  return result;
}

/** Reports whether upstream's types print an empty member. */
const isPrinted = (field: JsonField, value: ValuePlan): boolean =>
  field.ptr !== true && (field.omitempty !== true || (value.kind !== 'special' && !hasEmptyValue(value)));

/** Reports whether an absent value is printed as null. */
const isNil = (value: ValuePlan): boolean =>
  value.kind === 'list' ||
  value.kind === 'map' ||
  (value.kind === 'scalar' && (value.scalar === 'bytes' || !ZERO_SCALARS.has(value.scalar)));

/** Structs, and scalars that are structs upstream, are never omitted: the `0` of an IntOrString is a value. */
const hasEmptyValue = (plan: ValuePlan): boolean =>
  plan.kind === 'list' ||
  plan.kind === 'map' ||
  (plan.kind === 'scalar' &&
    typeof ZERO_SCALARS.get(plan.scalar) !== 'undefined' &&
    !STRUCTS.has(plan.scalar));

const STRUCTS: ReadonlySet<Scalar> = new Set<Scalar>([
  'Quantity',
  'QuantityValue',
  'IntOrString',
  'Duration',
]);

/** Reports whether a value is omitted from the output. */
export function isEmptyValue(value: unknown): boolean {
  if (typeof value === 'string') return value === '';
  if (typeof value !== 'object' || value === null) return value === 0 || value === false;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
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
