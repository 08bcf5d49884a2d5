/** Index of the objects of one resource by namespace, for plugins that evaluate all of a namespace. */
import type { ApiObject } from '../resources/contract.ts';
import type { ObjectSource } from './deps.ts';

const NONE: readonly ApiObject[] = [];

/** Returns the objects of a namespace. */
export function indexByNamespace(
  source: Pick<ObjectSource, 'follow'>,
): (namespace: string) => readonly ApiObject[] {
  const byNamespace = new Map<string, Map<string, ApiObject>>();
  source.follow(({ type, current }) => {
    const objects = byNamespace.get(current.namespace) ?? new Map<string, ApiObject>();
    if (type === 'DELETED') objects.delete(current.name);
    else objects.set(current.name, current.object());
    if (objects.size === 0) byNamespace.delete(current.namespace);
    else byNamespace.set(current.namespace, objects);
  });
  return (namespace) => {
    const objects = byNamespace.get(namespace);
    return objects === undefined ? NONE : [...objects.values()];
  };
}
