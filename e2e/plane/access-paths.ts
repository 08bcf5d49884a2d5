/** All paths of an API server, from its discovery documents, with the attributes of their requests. */
import type { Access } from './access-model.ts';
import type { Plane } from './support.ts';

export interface Place {
  readonly path: string;
  /** Request attributes of a method on the path. */
  readonly requested: (method: string) => Access;
  readonly namespaced?: boolean;
  readonly subresource: string;
}

/** `WATCH` and `SELECT` are a GET with a query. */
export const METHODS = ['GET', 'HEAD', 'WATCH', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

function resourceVerb(method: string, name: string): string {
  switch (method) {
    case 'GET':
    case 'HEAD':
      return name === '' ? 'list' : 'get';
    case 'WATCH':
      return 'watch';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    default:
      return '';
  }
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly subresource: string;
  readonly namespaced: boolean;
}

function placeOf(kind: Kind, namespace: string, name: string, rest = ''): Place {
  const { group, version, plural, subresource } = kind;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const parts = [namespace === '' ? '' : `namespaces/${namespace}`, plural, name, subresource, rest];
  const path = [root, ...parts.filter((part) => part !== '')].join('/');
  // The namespace of a namespace is the namespace itself.
  const within = group === '' && plural === 'namespaces' ? name : namespace;
  return {
    path,
    namespaced: kind.namespaced,
    subresource,
    requested: (method) => ({
      verb: resourceVerb(method, name),
      path,
      resource: { group, plural, subresource, namespace: within, name },
    }),
  };
}

/** Paths of a resource: everywhere, in a namespace, of objects that are there and that are not. */
function placesOf(kind: Kind, names: readonly string[], leaseNamespace: string): readonly Place[] {
  const namespaces = kind.namespaced ? ['default'] : [''];
  if (kind.plural === 'leases') namespaces.push(leaseNamespace);
  const items = namespaces.flatMap((namespace) => names.map((name) => placeOf(kind, namespace, name)));
  if (kind.subresource === 'proxy') {
    return [...items, ...namespaces.map((namespace) => placeOf(kind, namespace, 'x', 'metrics/a'))];
  }
  if (kind.subresource !== '') return items;
  const folders = namespaces.map((namespace) => placeOf(kind, namespace, ''));
  return [...(kind.namespaced ? [placeOf(kind, '', '')] : []), ...folders, ...items];
}

function plainPlace(path: string): Place {
  return {
    path,
    subresource: '',
    requested: (method) => ({ verb: method === 'WATCH' ? 'get' : method.toLowerCase(), path }),
  };
}

/** Paths that are of no resource and that no document lists, and some that are nothing. */
const FURTHER = [
  '/',
  '/healthz',
  '/livez',
  '/readyz',
  '/healthz/ping',
  '/livez/ping',
  '/readyz/ping',
  '/version',
  '/version/',
  '/versions',
  '/metrics',
  '/metrics/slis',
  '/logs',
  '/logs/x',
  '/configz',
  '/debug/pprof/',
  '/debug/pprof/profile',
  '/debug/flags/v',
  '/openapi',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/api/v1',
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
  '/api',
  '/api/',
  '/api/v1',
  '/api/v2',
  '/apis',
  '/apis/',
  '/apis/nosuch',
  '/apis/nosuch/v1',
  '/swagger.json',
  '/ui',
  '/nosuch',
];

interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly namespaced: boolean }[];
}

interface GroupList {
  readonly groups: readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
}

/** @param names of objects that are requested beside a missing one, by plural */
export async function findPlaces(
  plane: Plane,
  names: Readonly<Record<string, readonly string[]>>,
): Promise<readonly Place[]> {
  const groups = (await plane.get('/apis')).body as unknown as GroupList;
  const versions = [
    '/api/v1',
    ...groups.groups.flatMap(({ versions: each }) => each.map(({ groupVersion }) => `/apis/${groupVersion}`)),
  ];
  const kinds: Kind[] = [];
  for (const path of versions) {
    const { resources } = (await plane.get(path)).body as unknown as ResourceList;
    const [, , group = '', version = ''] = path.startsWith('/apis/') ? path.split('/') : ['', '', '', 'v1'];
    for (const { name, namespaced } of resources) {
      const [plural = '', subresource = ''] = name.split('/');
      kinds.push({ group, version, plural, subresource, namespaced });
    }
  }
  const root = (await plane.get('/')).body as unknown as { readonly paths: readonly string[] };
  const plain = new Set([...FURTHER, ...root.paths]);
  const strange = [
    { group: '', version: 'v1', plural: 'nosuch', subresource: '', namespaced: true },
    { group: '', version: 'v1', plural: 'pods', subresource: 'nosuch', namespaced: true },
    { group: 'nosuch', version: 'v1', plural: 'x', subresource: '', namespaced: false },
  ];
  return [
    ...[...kinds, ...strange].flatMap((kind) =>
      placesOf(kind, ['x', ...(names[kind.plural] ?? [])], plane.words.nodeLeaseNamespace),
    ),
    ...[...plain].map(plainPlace),
  ];
}
