/** Schemas of the built-in types, from the type tables. Pure. Source: facts README, Reading api-types.json. */
import {
  isRequired,
  type JsonField,
  jsonFields,
  META_PACKAGE,
  parseTypeName,
  type Scalar,
  shapeOf,
  type TypeName,
  typeOf,
  wireName,
} from '#api/schema/registry.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { describeMember, describeType } from './describe.ts';
import type { Dialect, SchemaObject } from './dialect.ts';
import { definitionName, type GroupVersionKind, kindOfType } from './names.ts';

export interface SchemaContext {
  readonly vocabulary: Vocabulary;
  readonly dialect: Dialect;
  /** Whether the values of enumerations are listed. Default true. */
  readonly enums?: boolean;
  /** Where options of deletion may be written in. */
  readonly groupVersions: readonly { readonly group: string; readonly version: string }[];
}

const TEXT: SchemaObject = { type: 'string' };
const TEXTS: SchemaObject = { type: 'array', items: TEXT };

/** Scalars that have a definition of their own, by the name of their type. */
const NAMED_SCALARS: Readonly<Partial<Record<Scalar, string>>> = {
  Quantity: 'resource.Quantity',
  QuantityValue: 'resource.Quantity',
  IntOrString: 'intstr.IntOrString',
  RawExtension: 'runtime.RawExtension',
  Time: `${META_PACKAGE}.Time`,
  MicroTime: `${META_PACKAGE}.MicroTime`,
  Duration: `${META_PACKAGE}.Duration`,
  FieldsV1: `${META_PACKAGE}.FieldsV1`,
};

const PLAIN_SCALARS: Readonly<Partial<Record<Scalar, SchemaObject>>> = {
  string: TEXT,
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  uint32: { type: 'integer', format: 'int64' },
  uint64: { type: 'integer', format: 'int64' },
  float: { type: 'number', format: 'float' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  any: {},
};

function namedScalar(scalar: Scalar, { intOrString, quantity }: Dialect): SchemaObject {
  if (scalar === 'Quantity' || scalar === 'QuantityValue') return quantity;
  if (scalar === 'IntOrString') return intOrString;
  if (scalar === 'Time' || scalar === 'MicroTime') return { type: 'string', format: 'date-time' };
  return { type: scalar === 'Duration' ? 'string' : 'object' };
}

/** Reports whether a type is a list of strings, which needs no definition. */
const isTexts = (name: TypeName): boolean => typeOf(name).jsonForm === 'string-array';

/** The definition that a type text refers to, if it refers to one. */
function referred(type: string, packageName: string): TypeName | undefined {
  const shape = shapeOf(type, packageName);
  switch (shape.kind) {
    case 'scalar': {
      const name = NAMED_SCALARS[shape.scalar];
      return name === undefined ? undefined : parseTypeName(name);
    }
    case 'list':
    case 'map':
      return referred(shape.element, packageName);
    case 'struct':
      return isTexts(shape.name) ? undefined : shape.name;
    default:
      return shape satisfies never;
  }
}

/** Definitions that the one of this type refers to. */
function referredTypes(name: TypeName): readonly TypeName[] {
  const shape = shapeOf(`${name.packageName}.${name.typeName}`, '');
  if (shape.kind === 'scalar' || typeOf(name).jsonForm !== undefined) return [];
  return jsonFields(name).flatMap((field) => referred(field.type, field.packageName) ?? []);
}

/** Returns the extensions of a field's schema that specify how it merges. */
function mergeMarks(field: JsonField, { vocabulary }: SchemaContext): SchemaObject {
  const prefix = vocabulary.schemaExtensionPrefix;
  const marks = {
    'patch-strategy': field.patchStrategy,
    'patch-merge-key': field.patchMergeKey,
    'list-type': field.listType,
    'list-map-keys': field.listType === 'map' ? field.listMapKeys : undefined,
    'map-type': field.mapType ?? field.structType,
  };
  const set = Object.entries(marks).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([mark, value]) => [`${prefix}${mark}`, value]));
}

function valueSchema(
  type: string,
  packageName: string,
  context: SchemaContext,
  more: SchemaObject,
  enumerated: SchemaObject,
): SchemaObject {
  const shape = shapeOf(type, packageName);
  const { dialect, vocabulary } = context;
  const refer = (name: TypeName): SchemaObject => dialect.ref(definitionName(name, vocabulary), more);
  switch (shape.kind) {
    case 'scalar': {
      const name = NAMED_SCALARS[shape.scalar];
      if (name !== undefined) return refer(parseTypeName(name));
      return { ...more, ...PLAIN_SCALARS[shape.scalar], ...enumerated };
    }
    case 'list': {
      const items = valueSchema(shape.element, packageName, context, {}, enumerated);
      return { ...more, type: 'array', items };
    }
    case 'map': {
      const additionalProperties = valueSchema(shape.element, packageName, context, {}, enumerated);
      return { ...more, type: 'object', additionalProperties };
    }
    case 'struct':
      return isTexts(shape.name) ? { ...more, ...TEXTS } : refer(shape.name);
    default:
      return shape satisfies never;
  }
}

function memberSchema(name: TypeName, field: JsonField, context: SchemaContext): SchemaObject {
  const description = describeMember(name, field);
  const more = {
    ...(description === undefined ? {} : { description }),
    ...(field.default === undefined ? {} : { default: field.default }),
    ...mergeMarks(field, context),
  };
  const enumerated = field.enum === undefined || context.enums === false ? {} : { enum: field.enum };
  return valueSchema(field.type, field.packageName, context, more, enumerated);
}

/** Returns the kinds that clients can write objects of this type as. */
function kindsOf(name: TypeName, { vocabulary, groupVersions }: SchemaContext): readonly GroupVersionKind[] {
  if (name.packageName !== META_PACKAGE) return [kindOfType(name, vocabulary)];
  const kind = name.typeName;
  // Kinds that all groups share go by the version of the core group, or that of each.
  if (kind === 'DeleteOptions') return groupVersions.map((of) => ({ ...of, kind }));
  return [{ group: '', version: 'v1', kind }];
}

function structSchema(name: TypeName, context: SchemaContext): SchemaObject {
  const { vocabulary } = context;
  const { kind, structType, jsonForm } = typeOf(name);
  // Such types hold any value, or one of several forms.
  if (jsonForm !== undefined) return {};
  const prefix = vocabulary.schemaExtensionPrefix;
  const fields = jsonFields(name);
  const required = fields.filter(isRequired).map((field) => wireName(field, vocabulary));
  const members = fields.map((field) => [wireName(field, vocabulary), memberSchema(name, field, context)]);
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: { ...(kind === true ? TYPE_META : {}), ...Object.fromEntries(members) },
    ...(kind === true ? { [`${prefix}group-version-kind`]: kindsOf(name, context) } : {}),
    ...(structType === 'atomic' ? { [`${prefix}map-type`]: 'atomic' } : {}),
  };
}

/** Members of every kind. Upstream's descriptions have the same beginnings: tools and tests look for them. */
export const TYPE_META: SchemaObject = {
  apiVersion: {
    type: 'string',
    description:
      'APIVersion defines the group and version of the schema of this object. The server converts it to the version of the request path and rejects versions that it does not serve.',
  },
  kind: {
    type: 'string',
    description:
      'Kind is the type of this object, in CamelCase. It must match the resource of the request path. Cannot be changed.',
  },
};

/** The schema of a type. */
export function typeSchema(name: TypeName, context: SchemaContext): SchemaObject {
  const shape = shapeOf(`${name.packageName}.${name.typeName}`, '');
  const schema =
    shape.kind === 'scalar' ? namedScalar(shape.scalar, context.dialect) : structSchema(name, context);
  const description = describeType(name);
  return description === undefined ? schema : { description, ...schema };
}

/** These types and all that they refer to, each once. */
export function* reachableTypes(roots: Iterable<TypeName>): Generator<TypeName> {
  const found = new Set<string>();
  const left = [...roots];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    const key = `${name.packageName}.${name.typeName}`;
    if (found.has(key)) continue;
    found.add(key);
    yield name;
    left.push(...referredTypes(name));
  }
}
