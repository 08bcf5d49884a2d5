/** Descriptions of types and fields: hand-written ones where available, otherwise derived from the name and
 *  the type tables. Pure. */
import type { JsonField, TypeName } from '#api/schema/registry.ts';
import { memberTextOf, textOf } from './descriptions/table.ts';
import { factsOf } from './member-facts.ts';

const withoutEnd = (name: string, end: string): string | undefined =>
  name.length > end.length && name.endsWith(end) ? name.slice(0, -end.length) : undefined;

/** Members that are the same in all kinds of conditions. */
const CONDITION: ReadonlyMap<string, string> = new Map([
  ['type', 'What the condition is about.'],
  ['status', 'Whether it is so: True, False or Unknown.'],
  ['reason', 'Why, in one word.'],
  ['message', 'Why, for people.'],
  ['lastTransitionTime', 'When the status last changed.'],
  ['lastUpdateTime', 'When the condition was last written.'],
  ['lastProbeTime', 'When it was last looked at.'],
  ['lastHeartbeatTime', 'When it was last reported.'],
]);

/** Members that mean the same wherever they are. */
const ANYWHERE: ReadonlyMap<string, string> = new Map([
  ['observedGeneration', 'Generation of the object that this is about.'],
  ['conditions', 'What is so and what is not, by type.'],
]);

/** It begins as upstream's does: tools and tests look for it. */
export const OBJECT_METADATA =
  "Standard object's metadata: name, namespace, labels and the other facts that every object has.";

/** What follows from the name of a member that many types have. */
function generic({ typeName }: TypeName, { json, type }: JsonField): string | undefined {
  if (json === 'metadata') {
    return type.endsWith('ListMeta')
      ? 'Standard list metadata: its resource version, and how to get the next page.'
      : OBJECT_METADATA;
  }
  const item = withoutEnd(typeName, 'List');
  if (json === 'items' && item !== undefined) return `The ${item} objects.`;
  if (json === 'spec' && type === `${typeName}Spec`) return `What is wanted of the ${typeName}.`;
  if (json === 'status' && type === `${typeName}Status`) {
    return `What was last seen of the ${typeName}. Set by the system; changes by others are not kept.`;
  }
  if (typeName.endsWith('Condition')) return CONDITION.get(json) ?? ANYWHERE.get(json);
  return ANYWHERE.get(json);
}

/** What is known of a member of a type. */
export function describeMember(name: TypeName, field: JsonField): string | undefined {
  const text = memberTextOf(name, field.json) ?? generic(name, field);
  const facts = factsOf(name, field).filter(
    (fact) => !fact.startsWith('Default') || !/default/i.test(text ?? ''),
  );
  const sentences = text === undefined ? facts : [text, ...facts];
  return sentences.length === 0 ? undefined : sentences.join(' ');
}

/** One sentence about a type. */
export function describeType(name: TypeName): string | undefined {
  const known = textOf(name);
  if (known !== undefined) return known;
  const { typeName } = name;
  const item = withoutEnd(typeName, 'List');
  if (item !== undefined) return `A list of ${item} objects.`;
  const wanted = withoutEnd(typeName, 'Spec');
  if (wanted !== undefined) return `What is wanted of a ${wanted}.`;
  const seen = withoutEnd(typeName, 'Status');
  if (seen !== undefined) return `What was last seen of a ${seen}.`;
  return typeName.endsWith('Condition') ? 'Whether something is so, since when and why.' : undefined;
}
