/** Sentences about types and members: our own, hand-written ones where there are, else what a name alone tells.
 *  Pure. */
import type { JsonField, TypeName } from '#api/schema/registry.ts';
import { MEMBER_DESCRIPTIONS, TYPE_DESCRIPTIONS } from './descriptions.ts';

/** What follows from the name of a member that many types have. */
function generic({ typeName }: TypeName, { json, type }: JsonField): string | undefined {
  if (json === 'metadata') {
    return type.endsWith('ListMeta')
      ? 'Facts about the list: its resource version, and how to get the next page.'
      : 'Name, namespace, labels and the other facts that every object has.';
  }
  if (json === 'items' && typeName.endsWith('List')) {
    return `The ${typeName.slice(0, -'List'.length)} objects.`;
  }
  if (json === 'spec' && type === `${typeName}Spec`) return `What is wanted of the ${typeName}.`;
  if (json === 'status' && type === `${typeName}Status`) {
    return `What was last seen of the ${typeName}. Set by the system; changes by others are not kept.`;
  }
  return undefined;
}

/** One sentence about a member of a type. */
export function describeMember(name: TypeName, field: JsonField): string | undefined {
  return MEMBER_DESCRIPTIONS[`${name.packageName}.${name.typeName}`]?.[field.json] ?? generic(name, field);
}

/** One sentence about a type. */
export function describeType({ packageName, typeName }: TypeName): string | undefined {
  const known = TYPE_DESCRIPTIONS[`${packageName}.${typeName}`];
  if (known !== undefined) return known;
  return typeName.endsWith('List') ? `A list of ${typeName.slice(0, -'List'.length)} objects.` : undefined;
}
