/** Counts the open watches that a write affects. Source: upstream's watch tracker of release 1.24. */
import { parseFieldSelector } from '#api/meta/field-selectors.ts';
import { SelectorError } from '#api/meta/selectors.ts';
import type { FlowTarget } from './contract.ts';

/** By `namespace/name`; both are empty for a watch of all objects, the name for a watch of a namespace. */
type Scopes = Map<string, number>;

type Scope = Pick<FlowTarget, 'group' | 'resource' | 'namespace' | 'name'>;

export interface WatchCounts {
  opened(scope: Scope): void;
  closed(scope: Scope): void;
  /** Returns the number of watches that may get the event of a write to this scope. */
  count(scope: Scope): number;
}

const EVERYWHERE = '/';

export function createWatchCounts(): WatchCounts {
  /** By resource, then by group: most writes end with the first lookup. */
  const resources = new Map<string, Map<string, Scopes>>();

  function add({ group, resource, namespace, name }: Scope, by: 1 | -1): void {
    const groups = resources.get(resource) ?? new Map<string, Scopes>();
    const scopes = groups.get(group) ?? new Map<string, number>();
    resources.set(resource, groups);
    groups.set(group, scopes);
    const place = `${namespace}/${name}`;
    const count = (scopes.get(place) ?? 0) + by;
    if (count === 0) scopes.delete(place);
    else scopes.set(place, count);
    if (scopes.size === 0) groups.delete(group);
    if (groups.size === 0) resources.delete(resource);
  }

  return {
    opened: (scope) => add(scope, 1),
    closed: (scope) => add(scope, -1),
    count(scope) {
      const scopes = resources.get(scope.resource)?.get(scope.group);
      if (scopes === undefined) return 0;
      const { namespace, name } = scope;
      let count = scopes.get(EVERYWHERE) ?? 0;
      if (namespace !== '') count += scopes.get(`${namespace}/`) ?? 0;
      if (name !== '') count += scopes.get(`${namespace}/${name}`) ?? 0;
      return count;
    },
  };
}

/** Reports whether a watch receives only the pods of one node: few writes concern it, so it is not counted. */
export function isOfOneNode({ group, resource }: Scope, query: URLSearchParams | undefined): boolean {
  const selector = group === '' && resource === 'pods' ? query?.get('fieldSelector') : undefined;
  if (!selector?.includes('spec.nodeName')) return false;
  try {
    return parseFieldSelector(selector).some(
      ({ field, equal, value }) => equal && field === 'spec.nodeName' && value !== '',
    );
  } catch (error) {
    // The endpoint reports an invalid selector.
    if (error instanceof SelectorError) return false;
    throw error;
  }
}
