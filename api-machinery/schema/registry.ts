/** Typed view of the API type tables. A package's table is loaded at the first use of one of its types.
 *  Source: facts README, Reading api-types.json. */

import { createRequire } from 'node:module';
import { isObject } from '../kit/object.ts';
import { canonicalApiVersion, VOCABULARIES, type Vocabulary } from '../vocabulary.ts';
import { remember } from './remember.ts';

/** The tables use the platform's vocabulary, whatever the vocabulary on the wire. */
const DOMAIN = VOCABULARIES.plat.apiGroupDomain;
/** Package of ObjectMeta and the types that all kinds share. */
export const META_PACKAGE: string = `meta.${DOMAIN}/v1`;
const CORE_PACKAGE = 'core/v1';

/** One field of a type, as in the tables. */
export interface FieldFact {
  /** JSON name; empty for an inline field. */
  readonly json: string;
  /** JSON name upstream, where it differs. */
  readonly upstream?: string;
  /** Number in protobuf; absent if the field is not in protobuf. */
  readonly proto?: number;
  /** Name of the message on the wire, for a list in JSON. */
  readonly protoType?: string;
  readonly protoName?: string;
  readonly repeated?: boolean;
  /** `string`, `[]Volume`, `map<string,Quantity>`, `core/v1.Pod`… */
  readonly type: string;
  readonly inline?: boolean;
  readonly ptr?: boolean;
  readonly optional?: boolean;
  readonly omitempty?: boolean;
  readonly protoOnly?: boolean;
  readonly enum?: readonly string[];
  readonly nullable?: boolean;
  /** Default in the published schema. */
  readonly default?: unknown;
  readonly listType?: 'atomic' | 'set' | 'map';
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly structType?: 'atomic' | 'granular';
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  /** Gate that the field belongs to. */
  readonly featureGate?: string;
}

export interface TypeFact {
  /** The type has `apiVersion` and `kind`. */
  readonly kind?: boolean;
  /** Its JSON form is not an object of its fields. */
  readonly jsonForm?: string;
  readonly protoOnly?: boolean;
  /** Has no protobuf form. */
  readonly jsonOnly?: boolean;
  readonly structType?: 'atomic' | 'granular';
  readonly fields: readonly FieldFact[];
}

/** A type in its package: `core/v1` and `Pod`. */
export interface TypeName {
  readonly packageName: string;
  readonly typeName: string;
}

/** A parsed type text. */
export type TypeShape =
  | { readonly kind: 'scalar'; readonly scalar: Scalar }
  | { readonly kind: 'list'; readonly element: string }
  | { readonly kind: 'map'; readonly element: string }
  | { readonly kind: 'struct'; readonly name: TypeName };

const SCALARS = [
  'string',
  'bool',
  'int32',
  'int64',
  'uint32',
  'uint64',
  'float',
  'double',
  'bytes',
  'any',
  'Time',
  'MicroTime',
  'Duration',
  'Quantity',
  'QuantityValue',
  'IntOrString',
  'FieldsV1',
  'RawExtension',
] as const;
/** Types whose JSON form is not an object with known fields. */
export type Scalar = (typeof SCALARS)[number];

/** A type that the tables do not have: a bug, never an error in the input. */
export class UnknownTypeError extends Error {
  override readonly name = 'UnknownTypeError';
  readonly reason = 'UnknownType';
  constructor(type: string, cause?: unknown) {
    super(`API type ${type} is not in the schema`, { cause });
  }
}

const requireData = createRequire(import.meta.url);
const isScalar = (type: string): type is Scalar => SCALARS.some((scalar) => scalar === type);
const isTypeFact = (value: unknown): value is TypeFact => isObject(value) && Array.isArray(value['fields']);

const fileNameOf = (packageName: string): string =>
  packageName.replace(`.${DOMAIN}`, '').replaceAll(/[#/.]/g, '-');

interface PackageData {
  /** In the platform's vocabulary, and in upstream's. */
  readonly apiVersion: string;
  readonly upstream: string;
  readonly upstreamProtoPackage?: string;
  readonly types: Readonly<Record<string, unknown>>;
}

const isPackage = (value: unknown): value is PackageData =>
  isObject(value) &&
  isObject(value['types']) &&
  typeof value['apiVersion'] === 'string' &&
  typeof value['upstream'] === 'string';

const packageData = remember((packageName): PackageData => {
  if (!/^[a-z0-9.#/]+$/.test(packageName)) throw new UnknownTypeError(packageName);
  try {
    const data: unknown = requireData(`./data/api-types/${fileNameOf(packageName)}.json`);
    if (isPackage(data)) return data;
  } catch (error) {
    throw new UnknownTypeError(packageName, error);
  }
  throw new UnknownTypeError(packageName);
});

/** Returns the `apiVersion` of a package's kinds on the wire: `storage/v1` with the domain of the vocabulary.
 *  @throws UnknownTypeError */
export function wireApiVersion(packageName: string, vocabulary: Vocabulary): string {
  const { apiVersion, upstream } = packageData(packageName);
  return vocabulary.name === 'kubernetes' ? upstream : apiVersion;
}

/** Returns upstream's name of a package's protobuf messages; `undefined` if it has none.
 *  @throws UnknownTypeError */
export function upstreamProtoPackage(packageName: string): string | undefined {
  return packageData(packageName).upstreamProtoPackage;
}

/** Returns the package of the kinds of this `apiVersion` on the wire, if the tables have one. */
export function packageOf(apiVersion: string, vocabulary: Vocabulary): string | undefined {
  if (apiVersion === 'v1') return CORE_PACKAGE;
  const packageName = vocabulary.name === 'kubernetes' ? canonicalApiVersion(apiVersion) : apiVersion;
  try {
    return wireApiVersion(packageName, vocabulary) === apiVersion ? packageName : undefined;
  } catch (error) {
    if (error instanceof UnknownTypeError) return undefined;
    throw error;
  }
}

/** Returns the name of a member on the wire. */
export const wireName = (field: FieldFact, vocabulary: Vocabulary): string =>
  vocabulary.name === 'kubernetes' ? (field.upstream ?? field.json) : field.json;

/** Splits `core/v1.Pod` at its last dot; a name without package is of `currentPackage`.
 *  @throws UnknownTypeError if there is no package */
export function parseTypeName(type: string, currentPackage?: string): TypeName {
  const dot = type.lastIndexOf('.');
  if (dot >= 0) return { packageName: type.slice(0, dot), typeName: type.slice(dot + 1) };
  if (currentPackage === undefined) throw new UnknownTypeError(type);
  return { packageName: currentPackage, typeName: type };
}

export const formatTypeName = ({ packageName, typeName }: TypeName): string => `${packageName}.${typeName}`;

/** Parses the type text of a field of a type in `currentPackage`. */
export function shapeOf(type: string, currentPackage: string): TypeShape {
  if (type.startsWith('[]')) return { kind: 'list', element: type.slice(2) };
  if (type.startsWith('map<string,')) return { kind: 'map', element: type.slice('map<string,'.length, -1) };
  if (isScalar(type)) return { kind: 'scalar', scalar: type };
  const name = parseTypeName(type, currentPackage);
  const shared = SHARED.get(formatTypeName(name));
  return shared === undefined ? { kind: 'struct', name } : { kind: 'scalar', scalar: shared };
}

/** Scalars under the name of the package that defines them. */
const SHARED: ReadonlyMap<string, Scalar> = new Map<string, Scalar>([
  ['resource.Quantity', 'Quantity'],
  ['resource.QuantityValue', 'QuantityValue'],
  ['intstr.IntOrString', 'IntOrString'],
  ['runtime.RawExtension', 'RawExtension'],
  [`${META_PACKAGE}.Time`, 'Time'],
  [`${META_PACKAGE}.MicroTime`, 'MicroTime'],
  [`${META_PACKAGE}.Duration`, 'Duration'],
  [`${META_PACKAGE}.FieldsV1`, 'FieldsV1'],
]);

/** Returns the facts of a type; `undefined` if its package does not have it. For callers that often look for types that
 *  do not exist: an error costs more than the rest of a small response.
 *  @throws UnknownTypeError if the package does not exist */
export function findType({ packageName, typeName }: TypeName): TypeFact | undefined {
  const { types } = packageData(packageName);
  const fact = Object.hasOwn(types, typeName) ? types[typeName] : undefined;
  return isTypeFact(fact) ? fact : undefined;
}

const typeFact = remember((key): TypeFact => {
  const fact = findType(parseTypeName(key));
  if (fact === undefined) throw new UnknownTypeError(key);
  return fact;
});

/** Returns the facts of a type: `typeOf('core/v1.Pod')`.
 *  @throws UnknownTypeError */
export function typeOf(type: string | TypeName): TypeFact {
  return typeFact(typeof type === 'string' ? type : formatTypeName(type));
}

/** A field as it appears in the JSON object, with the package in which its type's name is resolved. */
export interface JsonField extends FieldFact {
  readonly packageName: string;
}

const fieldsOf = remember((key): readonly JsonField[] => {
  const { packageName } = parseTypeName(key);
  return typeFact(key).fields.flatMap((field): readonly JsonField[] => {
    if (field.protoOnly === true) return [];
    if (field.inline !== true) return field.json === '' ? [] : [{ ...field, packageName }];
    const shape = shapeOf(field.type, packageName);
    return shape.kind === 'struct' ? jsonFields(shape.name) : [];
  });
});

/** Returns the members of a type's JSON object in output order, with inline parents resolved.
 *  @throws UnknownTypeError */
export function jsonFields(name: TypeName): readonly JsonField[] {
  return fieldsOf(formatTypeName(name));
}

/** Returns the type and every type that it includes inline. */
export function inlineTypes(name: TypeName): readonly TypeName[] {
  const parents = typeOf(name).fields.flatMap((field) => {
    if (field.inline !== true || field.protoOnly === true) return [];
    const shape = shapeOf(field.type, name.packageName);
    return shape.kind === 'struct' ? inlineTypes(shape.name) : [];
  });
  return [name, ...parents];
}

/** Neither optional nor omitted when empty. */
export const isRequired = (field: FieldFact): boolean => field.optional !== true && field.omitempty !== true;
