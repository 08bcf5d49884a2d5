/** Builds resource paths of the API server. Pure. Source: resource paths, document 1. */

export interface ResourceAddress {
  /** `v1`, `apps/v1`… */
  readonly apiVersion: string;
  /** Plural name: `pods`. */
  readonly resource: string;
  /** Absent for cluster-scoped resources, and for all namespaces. */
  readonly namespace?: string;
}

export interface ObjectAddress extends ResourceAddress {
  readonly name: string;
  readonly subresource?: string;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Returns `/api/v1/namespaces/default/pods/web/status?dryRun=All`. */
export function resourcePath(address: ResourceAddress | ObjectAddress, query: Query = {}): string {
  const { apiVersion, resource, namespace } = address;
  const root = apiVersion.includes('/') ? 'apis' : 'api';
  const parts = [root, ...apiVersion.split('/')];
  if (namespace !== undefined) parts.push('namespaces', namespace);
  parts.push(resource);
  if ('name' in address) parts.push(address.name);
  if ('subresource' in address && address.subresource !== undefined) {
    parts.push(...address.subresource.split('/'));
  }
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  const path = `/${parts.map(encodePart).join('/')}`;
  return search.size === 0 ? path : `${path}?${search.toString()}`;
}

/** Encoding does not change dots, and a segment of dots alone would change the path. */
function encodePart(part: string): string {
  if (part === '' || part === '.' || part === '..') {
    throw new RangeError(`${JSON.stringify(part)} is not a valid segment of a resource path`);
  }
  return encodeURIComponent(part);
}
