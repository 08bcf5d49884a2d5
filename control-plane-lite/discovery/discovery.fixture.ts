/** Requests, routes and a custom resource for tests of discovery and OpenAPI. */
import type { TypeModel } from '#api/schema/type-model.ts';
import type { ApiRequest, PathRoute } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';

const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const UNTYPED: TypeModel = { root: { kind: 'untyped' } };

export interface CustomNames {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
}

/** Creates a namespaced custom resource with this storage version. */
export function customResource({ group, version, plural, kind }: CustomNames): Resource {
  return {
    info: {
      group,
      version,
      plural,
      kind,
      singular: kind.toLowerCase(),
      listKind: `${kind}List`,
      namespaced: true,
      verbs: VERBS,
      shortNames: [],
      categories: [],
      columns: [],
      deleteReturns: 'Status',
      subresources: new Map(),
    },
    schema: {
      decode: () => {
        throw new Error('decoding is not supported by this fixture');
      },
      applyDefaults: () => undefined,
      model: UNTYPED,
    },
    strategy: {},
    parts: {},
    storage: {
      prefix: `/registry/${group}/${plural}/`,
      apiVersion: `${group}/${version}`,
      kind,
      namespaced: true,
    },
  };
}

export function requestFor(path: string, headers: ApiRequest['headers'] = {}, query = ''): ApiRequest {
  return {
    id: 'id',
    method: 'GET',
    info: {
      path,
      isResource: false,
      verb: 'get',
      group: '',
      version: '',
      namespace: '',
      resource: '',
      subresource: '',
      name: '',
      rest: '',
    },
    query: new URLSearchParams(query),
    headers,
    user: { name: 'admin', groups: [], extra: {} },
    receivedMs: 0,
    signal: new AbortController().signal,
    readBody: async () => Buffer.alloc(0),
    warn: () => undefined,
    annotate: () => undefined,
  };
}

/** Returns the route of a path, as the router finds it. */
export function routeOf(routes: readonly PathRoute[], path: string): PathRoute {
  const found = routes.find(
    (route) => path === route.path || (route.below === true && path.startsWith(`${route.path}/`)),
  );
  if (found === undefined) throw new Error(`no route for ${path}`);
  return found;
}
