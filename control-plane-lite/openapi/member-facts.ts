/** Facts about a field from the tables besides its type: its default and its feature gate. Pure. Source:
 *  facts README, defaults and api-types. */
import { type DefaultRule, readDefaultRules } from '#api/schema/default-rules.ts';
import {
  formatTypeName,
  type JsonField,
  jsonFields,
  parseTypeName,
  shapeOf,
  type TypeName,
} from '#api/schema/registry.ts';
import { remember } from '#api/schema/remember.ts';

const isPlain = (value: unknown): value is string | number | boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean';

/** Returns the type with the last member of a path: `DeploymentSpec` for `spec.replicas` of `Deployment`. Considers only
 *  types that belong to the first one: types that others share may have other defaults elsewhere. */
function ownerOf(type: string, path: string): readonly [owner: TypeName, member: string] | undefined {
  const root = parseTypeName(type);
  const members = path.split('.');
  const member = members.pop() ?? '';
  let owner = root;
  for (const name of members) {
    const field = jsonFields(owner).find(({ json }) => json === name);
    if (field === undefined) return undefined;
    const shape = shapeOf(field.type, field.packageName);
    if (shape.kind !== 'struct' || !shape.name.typeName.startsWith(root.typeName)) return undefined;
    owner = shape.name;
  }
  return [owner, member];
}

/** Returns the default of a member as a text, if it does not depend on the rest of the object. */
function plainDefault({
  path,
  value,
  upstreamValue,
  when,
  gate,
  note,
  forced,
  from,
}: DefaultRule): string | undefined {
  const more = [when, gate, note, forced, from, upstreamValue];
  if (more.some((condition) => condition !== undefined) || /[^A-Za-z.]/.test(path)) return undefined;
  return isPlain(value) ? String(value) : undefined;
}

/** By type and member. */
const defaults = remember((): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  for (const rule of readDefaultRules()) {
    const value = plainDefault(rule);
    const owner = value === undefined ? undefined : ownerOf(rule.type, rule.path);
    if (value !== undefined && owner !== undefined) {
      found.set(`${formatTypeName(owner[0])} ${owner[1]}`, value);
    }
  }
  return found;
});

/** Returns sentences on the default and the feature gate of a member. */
export function factsOf(name: TypeName, { json, featureGate }: JsonField): readonly string[] {
  const value = defaults().get(`${formatTypeName(name)} ${json}`);
  return [
    ...(value === undefined ? [] : [`Defaults to ${value}.`]),
    ...(featureGate === undefined ? [] : [`Guarded by the feature gate ${featureGate}.`]),
  ];
}
