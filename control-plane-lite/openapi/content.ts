/** Content of a document for some resources: definitions and paths, one by one, so that the document need not
 *  be in memory as a whole. Pure. */
import {
  META_PACKAGE,
  packageOf,
  parseTypeName,
  type TypeName,
  typeOf,
  UnknownTypeError,
} from '#api/schema/registry.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Resource, SubresourceInfo } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import { customDefinitions } from './custom-definitions.ts';
import type { SchemaObject } from './dialect.ts';
import { customDefinitionName, definitionName } from './names.ts';
import { type OperationNames, type PathItem, resourcePaths, type SharedNames } from './operations.ts';
import { reachableTypes, type SchemaContext, typeSchema } from './type-definitions.ts';

export interface Described {
  readonly resources: readonly Resource[];
  /** Whether schemas list the values of enumerations. Default true. */
  readonly enums?: boolean;
}

/** Name and value. */
export type Entry = readonly [name: string, value: SchemaObject];

/** Yielded by a generator that has worked for a while without an entry, so that its consumer can yield to the event loop. */
export const PAUSE: undefined = undefined;

const metaType = (typeName: string): TypeName => ({ packageName: META_PACKAGE, typeName });
/** Types of bodies that all resources share. */
const SHARED_TYPES = [
  'DeleteOptions',
  'Status',
  'ObjectMeta',
  'ListMeta',
  'APIResourceList',
  'APIGroup',
  'APIGroupList',
];
/** Media types of patches, whose bodies have no API type. */
const PATCH = 'Patch';

function exists(name: TypeName): boolean {
  try {
    typeOf(name);
    return true;
  } catch (error) {
    if (error instanceof UnknownTypeError) return false;
    throw error;
  }
}

/** Returns the type of a subresource's object, if the tables contain it. */
function subresourceType(
  { info }: Resource,
  sub: SubresourceInfo,
  vocabulary: Vocabulary,
): TypeName | undefined {
  if (sub.connect === true) return undefined;
  const apiVersion = apiVersionOf({ group: sub.group ?? info.group, version: sub.version ?? info.version });
  const packageName = packageOf(apiVersion, vocabulary);
  if (packageName === undefined) return undefined;
  const name = { packageName, typeName: sub.kind };
  return exists(name) ? name : undefined;
}

function listType({ info, schema }: Resource): TypeName | undefined {
  if (schema.typeRef === undefined) return undefined;
  const name = { packageName: parseTypeName(schema.typeRef).packageName, typeName: info.listKind };
  return exists(name) ? name : undefined;
}

/** Returns the types of a resource's request and response bodies. */
function typesOf(resource: Resource, vocabulary: Vocabulary): readonly TypeName[] {
  const { schema, info } = resource;
  const own = schema.typeRef === undefined ? undefined : parseTypeName(schema.typeRef);
  const subs = [...info.subresources.values()].map((sub) => subresourceType(resource, sub, vocabulary));
  return [own, listType(resource), ...subs].filter((type) => type !== undefined);
}

const byName = <T>([left]: readonly [string, T], [right]: readonly [string, T]): number =>
  left < right ? -1 : 1;

/** The definitions of the resources and of all they refer to, by the alphabet. */
export function* definitions(
  { resources }: Described,
  context: SchemaContext,
): Generator<Entry | typeof PAUSE> {
  const { vocabulary } = context;
  const roots = [
    ...SHARED_TYPES.map(metaType),
    ...resources.flatMap((resource) => typesOf(resource, vocabulary)),
  ];
  const types: (readonly [string, TypeName])[] = [];
  for (const type of reachableTypes(roots)) {
    types.push([definitionName(type, vocabulary), type]);
    yield PAUSE;
  }
  const patch = { description: 'Changes to an object, in one of several forms.', type: 'object' };
  yield [definitionName(metaType(PATCH), vocabulary), patch];
  for (const [name, type] of types.toSorted(byName)) yield [name, typeSchema(type, context)];
  for (const resource of resources) {
    if (resource.schema.typeRef === undefined) {
      yield* customDefinitions(resource, resource.schema.describe?.(), context);
    }
  }
}

function operationNames(resource: Resource, shared: SharedNames, vocabulary: Vocabulary): OperationNames {
  const { info, schema } = resource;
  const { group, version, kind } = info;
  const sub = (part: SubresourceInfo): string | undefined => {
    const type = subresourceType(resource, part, vocabulary);
    return type === undefined ? undefined : definitionName(type, vocabulary);
  };
  if (schema.typeRef === undefined) {
    const object = customDefinitionName({ group, version, kind });
    return { shared, object, list: customDefinitionName({ group, version, kind: info.listKind }), sub };
  }
  const object = definitionName(parseTypeName(schema.typeRef), vocabulary);
  const list = listType(resource);
  return { shared, object, list: list === undefined ? object : definitionName(list, vocabulary), sub };
}

/** The paths of the resources. */
export function* paths({ resources }: Described, vocabulary: Vocabulary): Generator<PathItem> {
  const shared: SharedNames = {
    status: definitionName(metaType('Status'), vocabulary),
    deleteOptions: definitionName(metaType('DeleteOptions'), vocabulary),
    patch: definitionName(metaType(PATCH), vocabulary),
  };
  for (const resource of resources) {
    yield* resourcePaths(resource, operationNames(resource, shared, vocabulary), vocabulary);
  }
}
