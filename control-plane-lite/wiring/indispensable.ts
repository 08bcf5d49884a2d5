/** Resources without which the server serves nothing: they protect or address all others, so that requests must not be
 *  decided as if some of their objects did not exist. */
import type { ResourceRegistry } from '../resources/registry.ts';

/** First labels of API groups. */
const GROUPS: ReadonlySet<string> = new Set([
  'admissionregistration',
  'apiextensions',
  'apiregistration',
  'coordination',
  'discovery',
  'flowcontrol',
  'policy',
  'rbac',
  'scheduling',
  'storage',
]);

const CORE: ReadonlySet<string> = new Set([
  'endpoints',
  'limitranges',
  'namespaces',
  'resourcequotas',
  'services',
]);

/** Returns the storage prefixes. */
export function indispensablePrefixes(registry: Pick<ResourceRegistry, 'all'>): readonly string[] {
  const all = registry.all().filter(({ info: { group, plural } }) => {
    const [first = ''] = group.split('.');
    return group === '' ? CORE.has(plural) : GROUPS.has(first);
  });
  return [...new Set(all.map(({ storage }) => storage.prefix))];
}
