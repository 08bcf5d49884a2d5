/** Descriptions of types and fields: hand-written ones where available, otherwise derived from the name and
 *  the type tables. Pure. */
import type { JsonField, TypeName } from '#api/schema/registry.ts';
import { memberTextOf, textOf } from './descriptions/table.ts';
import { factsOf } from './member-facts.ts';

const withoutEnd = (name: string, end: string): string | undefined =>
  name.length > end.length && name.endsWith(end) ? name.slice(0, -end.length) : undefined;

/** Fields that all condition types share. */
const CONDITION: ReadonlyMap<string, string> = new Map([
  ['type', 'Type of the condition.'],
  ['status', 'Status of the condition: True, False or Unknown.'],
  ['reason', 'Machine-readable reason for the last transition, in CamelCase.'],
  ['message', 'Human-readable details of the last transition.'],
  ['lastTransitionTime', 'Time at which the status last changed.'],
  ['lastUpdateTime', 'Time at which the condition was last updated.'],
  ['lastProbeTime', 'Time at which the condition was last probed.'],
  ['lastHeartbeatTime', 'Time at which the condition was last reported.'],
]);

/** Fields with the same meaning in all types. */
const ANYWHERE: ReadonlyMap<string, string> = new Map([
  ['observedGeneration', 'Generation of the object that this state was observed for.'],
  ['conditions', 'Conditions of the object, one for each type.'],
]);

/** Upstream's text has the same beginning: tools and tests look for it. */
export const OBJECT_METADATA =
  "Standard object's metadata: name, namespace, labels and other fields of every object.";

/** Returns the description of a field that many types share, derived from its name. */
function generic({ typeName }: TypeName, { json, type }: JsonField): string | undefined {
  if (json === 'metadata') {
    return type.endsWith('ListMeta')
      ? 'Standard list metadata: its resource version and the token for the next page.'
      : OBJECT_METADATA;
  }
  const item = withoutEnd(typeName, 'List');
  if (json === 'items' && item !== undefined) return `${item} objects of the list.`;
  if (json === 'spec' && type === `${typeName}Spec`) return `Desired state of the ${typeName}.`;
  if (json === 'status' && type === `${typeName}Status`) {
    return `Most recently observed state of the ${typeName}. Set by the system; only requests for the status subresource can change it.`;
  }
  if (typeName.endsWith('Condition')) return CONDITION.get(json) ?? ANYWHERE.get(json);
  return ANYWHERE.get(json);
}

/** Returns the description of a member of a type, with its default and its feature gate. */
export function describeMember(name: TypeName, field: JsonField): string | undefined {
  const text = memberTextOf(name, field.json) ?? generic(name, field);
  const facts = factsOf(name, field).filter(
    (fact) => !fact.startsWith('Default') || !/default/i.test(text ?? ''),
  );
  const sentences = text === undefined ? facts : [text, ...facts];
  return sentences.length === 0 ? undefined : sentences.join(' ');
}

/** Returns the description of a type. */
export function describeType(name: TypeName): string | undefined {
  const known = textOf(name);
  if (known !== undefined) return known;
  const { typeName } = name;
  const item = withoutEnd(typeName, 'List');
  if (item !== undefined) return `List of ${item} objects.`;
  const desired = withoutEnd(typeName, 'Spec');
  if (desired !== undefined) return `Desired state of a ${desired}.`;
  const observed = withoutEnd(typeName, 'Status');
  if (observed !== undefined) return `Most recently observed state of a ${observed}.`;
  return typeName.endsWith('Condition') ? 'One aspect of the current state of an object.' : undefined;
}
