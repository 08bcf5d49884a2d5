/** Type models of the built-in types, from the type tables. Nodes are created at their first use and shared.
 *  Source: server-side apply, document 1 §4.9; facts README, Reading api-types.json. */
import { VOCABULARIES, type Vocabulary } from '../vocabulary.ts';
import {
  type FieldFact,
  formatTypeName,
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
import type {
  ListNode,
  MemberNode,
  ScalarNode,
  StructNode,
  TypeModel,
  TypeNode,
  UntypedNode,
} from './type-model.ts';

const SCALAR: ScalarNode = { kind: 'scalar' };
const UNTYPED: UntypedNode = { kind: 'untyped' };
/** An embedded object has one owner, as a whole. */
const EMBEDDED: TypeNode = { kind: 'map', mapType: 'atomic', element: UNTYPED };
const TEXTS: ListNode = { kind: 'list', listType: 'atomic', mapKeys: [], keyDefaults: {}, element: SCALAR };

/** Merge markers of the field that holds a value. */
type Markers = Pick<
  FieldFact,
  'listType' | 'listMapKeys' | 'mapType' | 'structType' | 'patchStrategy' | 'patchMergeKey'
>;
const NO_MARKERS: Markers = {};

function scalarNode(scalar: Scalar): TypeNode {
  if (scalar === 'RawExtension' || scalar === 'FieldsV1') return EMBEDDED;
  return scalar === 'any' ? UNTYPED : SCALAR;
}

/** A list whose patches merge has keyed items, or is a set if no key is named. */
function listTypeOf({ listType, listMapKeys, patchStrategy, patchMergeKey }: Markers): {
  readonly listType: ListNode['listType'];
  readonly keys: readonly string[];
} {
  if (listType !== undefined) return { listType, keys: listType === 'map' ? (listMapKeys ?? []) : [] };
  if (patchStrategy?.split(',').includes('merge') !== true) return { listType: 'atomic', keys: [] };
  return patchMergeKey === undefined
    ? { listType: 'set', keys: [] }
    : { listType: 'map', keys: [patchMergeKey] };
}

function listNode(element: string, packageName: string, markers: Markers, vocabulary: Vocabulary): ListNode {
  const { listType, keys } = listTypeOf(markers);
  const shape = shapeOf(element, packageName);
  const fields = shape.kind === 'struct' && keys.length > 0 ? jsonFields(shape.name) : [];
  const keyFields = keys.flatMap((key) => fields.find((field) => field.json === key) ?? []);
  const defaults = keyFields.filter((field) => field.default !== undefined);
  return {
    kind: 'list',
    // A key that the items do not have cannot distinguish them.
    listType: listType === 'map' && keyFields.length < keys.length ? 'atomic' : listType,
    mapKeys: keyFields.length < keys.length ? [] : keyFields.map((field) => wireName(field, vocabulary)),
    keyDefaults: Object.fromEntries(defaults.map((field) => [wireName(field, vocabulary), field.default])),
    element: nodeOf(element, packageName, NO_MARKERS, vocabulary),
  };
}

function nodeOf(type: string, packageName: string, markers: Markers, vocabulary: Vocabulary): TypeNode {
  const shape = shapeOf(type, packageName);
  switch (shape.kind) {
    case 'scalar':
      return scalarNode(shape.scalar);
    case 'list':
      return listNode(shape.element, packageName, markers, vocabulary);
    case 'map': {
      const element = nodeOf(shape.element, packageName, NO_MARKERS, vocabulary);
      return { kind: 'map', mapType: markers.mapType ?? 'granular', element };
    }
    case 'struct':
      return typeNode(shape.name, markers, vocabulary);
    default:
      return shape satisfies never;
  }
}

/** Types with a JSON form of their own are lists of strings, or arbitrary. */
function typeNode(name: TypeName, markers: Markers, vocabulary: Vocabulary): TypeNode {
  const { jsonForm, structType: own } = typeOf(name);
  if (jsonForm === 'string-array') return TEXTS;
  if (jsonForm !== undefined) return UNTYPED;
  const structType = markers.structType ?? own ?? 'granular';
  return structNodes(`${vocabulary.name} ${structType} ${formatTypeName(name)}`);
}

const structNodes = remember((key): StructNode => {
  const [vocabularyName, structType, type = ''] = key.split(' ');
  const vocabulary = VOCABULARIES[vocabularyName === 'kubernetes' ? 'kubernetes' : 'plat'];
  return createStructNode(parseTypeName(type), structType === 'atomic' ? 'atomic' : 'granular', vocabulary);
});

function createStructNode(
  name: TypeName,
  structType: StructNode['structType'],
  vocabulary: Vocabulary,
): StructNode {
  const fields = new Map<string, JsonField>();
  for (const field of jsonFields(name)) fields.set(wireName(field, vocabulary), field);
  const own = typeOf(name).kind === true ? ['kind', 'apiVersion'] : [];
  const made = new Map<string, MemberNode>(own.map((member) => [member, { node: SCALAR }]));
  return {
    kind: 'struct',
    structType,
    members: [...own, ...fields.keys()],
    member(wire) {
      const known = made.get(wire);
      if (known !== undefined) return known;
      const field = fields.get(wire);
      if (field === undefined) return undefined;
      const member = memberNode(field, vocabulary);
      made.set(wire, member);
      return member;
    },
  };
}

function memberNode(field: JsonField, vocabulary: Vocabulary): MemberNode {
  const { patchStrategy, patchMergeKey } = field;
  const node = nodeOf(field.type, field.packageName, field, vocabulary);
  return {
    node,
    always: field.omitempty !== true || (field.ptr !== true && node.kind === 'struct'),
    ...(patchStrategy === undefined ? {} : { patchStrategy }),
    ...(patchMergeKey === undefined ? {} : { patchMergeKey }),
  };
}

/** Returns the type model of a built-in type: `typeModelOf('core/v1.Pod', vocabulary)`, with the member names
 *  of that vocabulary.
 *  @throws UnknownTypeError */
export function typeModelOf(typeRef: string, vocabulary: Vocabulary): TypeModel {
  const root = typeNode(parseTypeName(typeRef), NO_MARKERS, vocabulary);
  return { root: root.kind === 'struct' ? root : UNTYPED };
}
