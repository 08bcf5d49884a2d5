/** Mutator of objects by their type: most results can be decoded, many are invalid. */
import { isObject } from '#api/kit/object.ts';
import { jsonFields, shapeOf, type TypeName } from '#api/schema/registry.ts';
import type { Random } from '../../testing/random.ts';
import { chance, fieldsOf, hostile, hostileName, memberOf } from './hostile.ts';

type Members = Record<string, unknown>;
/** A copy with some changes. `type`: of the value, where it is known. */
export function shake(random: Random, value: unknown, type?: TypeName): unknown {
  const copy: unknown = structuredClone(value);
  const changes = random.pick([0, 1, 1, 1, 2, 3, 6]);
  for (let time = 0; time < changes; time += 1) shakeOnce(random, copy, type);
  return copy;
}

/** Walks down to some place and changes something there. */
function shakeOnce(random: Random, value: unknown, type: TypeName | undefined): void {
  if (Array.isArray(value)) return shakeList(random, value, type);
  if (!isObject(value)) return;
  const names = Object.keys(value);
  const name = names[random.below(Math.max(1, names.length))];
  if (name !== undefined && chance(random, 65)) {
    const child = value[name];
    if (typeof child === 'object' && child !== null) return shakeOnce(random, child, memberType(type, name));
  }
  change(random, value, name, type);
}

function shakeList(random: Random, items: unknown[], type: TypeName | undefined): void {
  const index = random.below(Math.max(1, items.length));
  const item: unknown = items[index];
  if (typeof item === 'object' && item !== null && chance(random, 60)) return shakeOnce(random, item, type);
  const kind = random.below(4);
  if (kind === 0) items.push(structuredClone(item));
  else if (kind === 1) items.push(hostile(random));
  else if (kind === 2) items.splice(index, 1);
  else items[index] = hostile(random);
}

function change(random: Random, value: Members, name: string | undefined, type: TypeName | undefined): void {
  const kind = random.below(10);
  const fields = type === undefined ? [] : jsonFields(type);
  if (kind < 5 && fields.length > 0) {
    const field = random.pick(fields);
    value[field.json] = memberOf(random, field, 3);
  } else if (kind < 7 && name !== undefined) {
    value[name] = hostile(random);
  } else if (kind === 7 && name !== undefined) {
    delete value[name];
  } else if (kind === 8) {
    // As JSON.parse does it: a member of that name, whatever the name.
    Object.defineProperty(value, hostileName(random), {
      value: hostile(random),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    value['managedFields'] = [
      {
        manager: 'm',
        operation: 'Update',
        apiVersion: 'v1',
        fieldsType: 'FieldsV1',
        fieldsV1: fieldsOf(random, 4),
      },
    ];
  }
}

/** The type of a member, or of its items. */
function memberType(type: TypeName | undefined, name: string): TypeName | undefined {
  const field = type === undefined ? undefined : jsonFields(type).find(({ json }) => json === name);
  if (field === undefined) return undefined;
  let text = field.type;
  for (;;) {
    const shape = shapeOf(text, field.packageName);
    if (shape.kind === 'struct') return shape.name;
    if (shape.kind === 'scalar') return undefined;
    text = shape.element;
  }
}
