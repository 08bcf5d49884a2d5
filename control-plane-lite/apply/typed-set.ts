/** Field sets interpreted by the types of their fields. Pure. */
import type { TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { copySet, type FieldSet, type FieldSetDraft, isEmptySet, LEAF, withSelf } from './field-set.ts';
import { memberPlan } from './member-plan.ts';

/** Returns the type that an element of a path leads to; `undefined`: the element doesn't fit the type. */
function descend(
  node: TypeNode,
  element: string,
): { readonly node: TypeNode; readonly declared: boolean } | undefined {
  if (element.startsWith('f:')) {
    return node.kind === 'list' || node.kind === 'scalar' ? undefined : memberPlan(node, element.slice(2));
  }
  return node.kind === 'list' ? { node: node.element, declared: false } : undefined;
}

/** Returns the set completed with every declared struct member above one of its members: `spec` for
 *  `spec.replicas`. A list or map item above isn't added, since it exists apart from its contents. */
export function withNamedMembers(set: FieldSet, { root }: TypeModel): FieldSet {
  return nameMembers(set, root);
}

function nameMembers(set: FieldSet, node: TypeNode | undefined): FieldSet {
  const result: FieldSetDraft = {};
  for (const element in set) {
    const child = set[element] ?? LEAF;
    if (element === '.' || isEmptySet(child)) {
      result[element] = child;
      continue;
    }
    const step = node === undefined ? undefined : descend(node, element);
    const named = nameMembers(child, step?.node);
    result[element] = step?.declared === true && named['.'] === undefined ? withSelf(named) : named;
  }
  return result;
}

const isAtomic = (node: TypeNode): boolean =>
  (node.kind === 'list' && node.listType === 'atomic') ||
  (node.kind === 'map' && node.mapType === 'atomic') ||
  (node.kind === 'struct' && node.structType === 'atomic');

/** Returns the set after a change of the types: an owner of any part of a structure that has become atomic
 *  owns it whole. Fields that have become granular stay with their owner, by the elements in the set; no set
 *  grows. Returns the set itself if nothing changed. Source: type changes, document 1 §4.9.8. */
export function adaptToTypes(set: FieldSet, { root }: TypeModel): FieldSet {
  return root.kind === 'untyped' ? set : adaptChildren(set, root);
}

function adaptChildren(set: FieldSet, node: TypeNode): FieldSet {
  let result: FieldSetDraft | undefined;
  for (const element in set) {
    const child = set[element];
    if (element === '.' || child === undefined || isEmptySet(child)) continue;
    const step = descend(node, element);
    if (step === undefined || step.node.kind === 'untyped') continue;
    const adapted = isAtomic(step.node) ? LEAF : adaptChildren(child, step.node);
    if (adapted === child) continue;
    result ??= copySet(set);
    result[element] = adapted;
  }
  return result ?? set;
}
