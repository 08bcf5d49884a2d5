/** All paths of 64-bit numbers in all kinds, each with a minimal object that contains it. */
import resources from '#api/schema/data/api-resources.json' with { type: 'json' };
import { planOf, type ValuePlan } from '#api/schema/decode-plan.ts';
import { parseTypeName, wireApiVersion } from '#api/schema/registry.ts';
import type { TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { typeModelOf } from '#api/schema/type-model-builtin.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { applyMergePatch } from './merge-patch.ts';

const { plat } = VOCABULARIES;

export interface Int64Place {
  readonly typeRef: string;
  /** `spec.tolerations.[].tolerationSeconds` */
  readonly path: string;
  readonly model: TypeModel;
  /** Returns the JSON of an object with the number at the path. */
  readonly textOf: (value: bigint) => string;
}

const MARK = '"<number>"';

/** `[]` is an item of a list, `{}` of a map. */
function* pathsIn(
  plan: ValuePlan,
  path: readonly string[],
  around: readonly string[],
): Generator<readonly string[]> {
  switch (plan.kind) {
    case 'scalar':
      if (plan.scalar === 'int64') yield path;
      return;
    case 'list':
      yield* pathsIn(plan.element, [...path, '[]'], around);
      return;
    case 'map':
      yield* pathsIn(plan.element, [...path, '{}'], around);
      return;
    case 'struct':
      // Recursive types add no new paths.
      if (around.includes(plan.typeName)) return;
      for (const { name, value } of plan.members.values()) {
        yield* pathsIn(value, [...path, name], [...around, plan.typeName]);
      }
      return;
    case 'special':
      return;
    default:
      plan satisfies never;
  }
}

/** Returns the value at the end of the path within its parents; items of lists have their merge keys. */
function holderOf(
  path: readonly string[],
  node: TypeNode | undefined,
  keys: readonly string[],
  mark: string,
): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return mark;
  if (step === '[]') {
    const list = node?.kind === 'list' ? node : undefined;
    const item = holderOf(rest, list?.element, [], mark);
    if (typeof item !== 'object' || item === null) return [item];
    const named = [...(list?.mapKeys ?? []), ...keys].map((key) => [key, key.endsWith('ort') ? 80 : 'x']);
    return [{ ...Object.fromEntries(named), ...item }];
  }
  if (step === '{}') return { x: holderOf(rest, node?.kind === 'map' ? node.element : undefined, [], mark) };
  const member = node?.kind === 'struct' ? node.member(step) : undefined;
  const mergeKey = member?.patchMergeKey;
  return { [step]: holderOf(rest, member?.node, mergeKey === undefined ? [] : [mergeKey], mark) };
}

const typeRefs: readonly string[] = [
  ...new Set(
    resources.resources.map(
      ({ group, version, kind }) => `${group === '' ? 'core' : group}/${version}.${kind}`,
    ),
  ),
];

export const INT64_PLACES: readonly Int64Place[] = typeRefs.flatMap((typeRef) => {
  const { packageName, typeName } = parseTypeName(typeRef);
  const model = typeModelOf(typeRef, plat);
  return [...pathsIn(planOf(typeRef, plat), [], [])].map((path): Int64Place => {
    const value = holderOf(path, model.root, [], '<number>');
    const object = { apiVersion: wireApiVersion(packageName, plat), kind: typeName, metadata: { name: 'x' } };
    // Metadata of the path is merged with the name.
    const text = JSON.stringify(applyMergePatch(object, value));
    return { typeRef, path: path.join('.'), model, textOf: (number) => text.replace(MARK, String(number)) };
  });
});
