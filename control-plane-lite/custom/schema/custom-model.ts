/** Merge model of custom objects, from their schema: for patches, apply and pruning. Pure. Source: merge
 *  strategies, document 1 §4.9.3; objects without a schema are unstructured. */
import { META_PACKAGE } from '#api/schema/registry.ts';
import type { MemberNode, StructNode, TypeModel, TypeNode, UntypedNode } from '#api/schema/type-model.ts';
import { typeModelOf } from '#api/schema/type-model-builtin.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { itemSchema, type JsonSchema } from './json-schema.ts';

const UNTYPED: UntypedNode = { kind: 'untyped' };
const UNKNOWN_MEMBER: MemberNode = { node: UNTYPED };
const SCALAR: TypeNode = { kind: 'scalar' };

/** Members that every object has. */
function metaMembers(vocabulary: Vocabulary): ReadonlyMap<string, MemberNode> {
  return new Map<string, MemberNode>([
    ['apiVersion', { node: SCALAR }],
    ['kind', { node: SCALAR }],
    ['metadata', { node: typeModelOf(`${META_PACKAGE}.ObjectMeta`, vocabulary).root }],
  ]);
}

function nodeOf(schema: JsonSchema, vocabulary: Vocabulary): TypeNode {
  if (schema.embeddedResource) return structNode(schema, vocabulary, true);
  if (schema.intOrString) return SCALAR;
  switch (schema.type) {
    case 'object':
      return objectNode(schema, vocabulary);
    case 'array':
      return listNode(schema, vocabulary);
    case undefined:
      return schema.properties.size > 0 ? structNode(schema, vocabulary, false) : UNTYPED;
    default:
      return SCALAR;
  }
}

function objectNode(schema: JsonSchema, vocabulary: Vocabulary): TypeNode {
  const { properties, additionalProperties: additional, preserveUnknownFields, mapType } = schema;
  if (properties.size > 0) return structNode(schema, vocabulary, false);
  if (additional !== undefined && additional !== false) {
    const element = additional === true ? UNTYPED : nodeOf(additional, vocabulary);
    return { kind: 'map', mapType: mapType === 'atomic' ? 'atomic' : 'granular', element };
  }
  if (mapType === 'atomic') return { kind: 'map', mapType: 'atomic', element: UNTYPED };
  return preserveUnknownFields === true ? UNTYPED : structNode(schema, vocabulary, false);
}

function structNode(schema: JsonSchema, vocabulary: Vocabulary, isObject: boolean): StructNode {
  const { properties, preserveUnknownFields, mapType } = schema;
  const made = new Map<string, MemberNode>(isObject ? metaMembers(vocabulary) : []);
  const own = [...properties.keys()].filter((name) => !made.has(name));
  return {
    kind: 'struct',
    structType: mapType === 'atomic' ? 'atomic' : 'granular',
    members: [...made.keys(), ...own],
    member(name) {
      const known = made.get(name);
      if (known !== undefined) return known;
      const child = properties.get(name);
      if (child === undefined) return preserveUnknownFields === true ? UNKNOWN_MEMBER : undefined;
      const member = { node: nodeOf(child, vocabulary) };
      made.set(name, member);
      return member;
    },
  };
}

function listNode(schema: JsonSchema, vocabulary: Vocabulary): TypeNode {
  const items = itemSchema(schema);
  const element = items === undefined ? UNTYPED : nodeOf(items, vocabulary);
  const { listType, listMapKeys } = schema;
  if (listType === 'set') return { kind: 'list', listType, mapKeys: [], keyDefaults: {}, element };
  if (listType !== 'map' || listMapKeys.length === 0) {
    return { kind: 'list', listType: 'atomic', mapKeys: [], keyDefaults: {}, element };
  }
  const defaults = listMapKeys.map((key) => [key, items?.properties.get(key)?.default] as const);
  const keyDefaults = Object.fromEntries(defaults.filter(([, value]) => value !== undefined));
  return { kind: 'list', listType, mapKeys: listMapKeys, keyDefaults, element };
}

/** How the objects of a schema merge; without a schema nothing but the metadata is known of them. */
export function customModel(schema: JsonSchema | undefined, vocabulary: Vocabulary): TypeModel {
  if (schema !== undefined) return { root: structNode(schema, vocabulary, true) };
  const meta = metaMembers(vocabulary);
  return {
    root: {
      kind: 'struct',
      structType: 'granular',
      members: [...meta.keys()],
      member: (name) => meta.get(name) ?? UNKNOWN_MEMBER,
    },
  };
}
