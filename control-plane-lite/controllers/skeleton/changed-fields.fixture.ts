/** Compares the writes of controllers with their declarations. For tests. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { isMutableObject } from '#api/kit/object.ts';
import type { UpdateObserver } from './scope.ts';

/** Returns the paths of the fields that differ, such as `metadata.labels.app`. Lists count as one field. */
export function changedFields(before: unknown, after: unknown, path = ''): readonly string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isMutableObject(before ?? {}) || !isMutableObject(after ?? {}) || (before ?? after) === undefined)
    return [path];
  const [left, right] = [before ?? {}, after ?? {}];
  if (!isMutableObject(left) || !isMutableObject(right)) return [path];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].flatMap((name) =>
    changedFields(left[name], right[name], path === '' ? name : `${path}.${name}`),
  );
}

/** Reports whether a declared path is the field itself or one above it. */
export const covers = (declared: string, field: string): boolean =>
  field === declared || field.startsWith(`${declared}.`);

/** Collects the fields that controllers changed without declaring them. */
export function createUpdateCheck(): {
  readonly observe: UpdateObserver;
  /** @throws Error that names the undeclared fields */
  assertDeclared(): void;
} {
  const undeclared = new Set<string>();
  return {
    observe({ controller, resource, subresource, fields, before, after }) {
      const target = [resource.info.plural, subresource].filter((part) => part !== undefined).join('/');
      for (const field of changedFields(before, after)) {
        if (!fields.some((declared) => covers(declared, field)))
          undeclared.add(`${controller}: ${target} ${field}`);
      }
    },
    assertDeclared() {
      if (undeclared.size === 0) return;
      throw new Error(`controllers changed fields that they do not declare: ${[...undeclared].join(', ')}`);
    },
  };
}
