/** What a set of fields means once the types of the fields are known. Pure. */
import type { TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type FieldSet, type FieldSetDraft, isEmptySet, LEAF } from './field-set.ts';
import { memberPlan } from './member-plan.ts';

/** The type of what an element of a path leads to; `undefined`: the element doesn't fit the type. */
function descend(
  node: TypeNode,
  element: string,
): { readonly node: TypeNode; readonly declared: boolean } | undefined {
  if (element.startsWith('f:')) {
    return node.kind === 'list' || node.kind === 'scalar' ? undefined : memberPlan(node, element.slice(2));
  }
  return node.kind === 'list' ? { node: node.element, declared: false } : undefined;
}

/** The set with every declared struct member above one of its members: `spec` where it has `spec.replicas`. A list
 *  or map item above isn't added, for it exists apart from what is in it. */
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
    result[element] = step?.declared === true && named['.'] === undefined ? { '.': LEAF, ...named } : named;
  }
  return result;
}

const isAtomic = (node: TypeNode): boolean =>
  (node.kind === 'list' && node.listType === 'atomic') ||
  (node.kind === 'map' && node.mapType === 'atomic') ||
  (node.kind === 'struct' && node.structType === 'atomic');

/** The set after a change of the types: who owned anything in a structure that has become atomic owns it whole.
 *  What has become granular stays with whom it was, by the elements that are in the set; nobody is given more.
 *  Returns the set itself if nothing changed. Source: document 1, 4.9.8. */
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
    result ??= { ...set };
    result[element] = adapted;
  }
  return result ?? set;
}
