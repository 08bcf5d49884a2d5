/** Checks an aggregated server by reading its discovery document of a group version. */

import type { APIResource } from '#api/gen/meta-v1.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { MASTERS_GROUP } from '../authn/users.ts';
import { apiPath, type RemoteApi } from './api-services.ts';
import type { RemoteTls } from './remote-server.ts';
import type { Address } from './resolve-service.ts';
import { jsonOf, sendRequest } from './send-request.ts';

export type DiscoveryResult =
  | { readonly kind: 'available'; readonly resources: readonly APIResource[] }
  | { readonly kind: 'failed'; readonly url: string; readonly problem: string };

export interface DiscoveryTarget {
  readonly api: Pick<RemoteApi, 'group' | 'version'>;
  readonly address: Address;
  readonly tls: RemoteTls;
}

const MOST_RESOURCES = 10_000;

const isText = (value: unknown): value is string => typeof value === 'string';
const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter(isText) : []);
const optional = (name: string, value: unknown): object =>
  isText(value) && value !== '' ? { [name]: value } : {};

function parseResource(value: unknown): readonly APIResource[] {
  if (!isMutableObject(value)) return [];
  const { name, kind, singularName, namespaced, verbs, shortNames, categories } = value;
  if (!isText(name) || !isText(kind)) return [];
  return [
    {
      name,
      singularName: isText(singularName) ? singularName : '',
      namespaced: namespaced === true,
      ...optional('group', value['group']),
      ...optional('version', value['version']),
      kind,
      verbs: texts(verbs),
      ...(shortNames === undefined ? {} : { shortNames: texts(shortNames) }),
      ...(categories === undefined ? {} : { categories: texts(categories) }),
      ...optional('storageVersionHash', value['storageVersionHash']),
    },
  ];
}

/** Returns the resources in the discovery document of a group version, without invalid entries. Returns none for a
 *  document that is not JSON: such a server is available nevertheless. */
export function parseResources(document: unknown): readonly APIResource[] {
  const resources = isMutableObject(document) ? document['resources'] : undefined;
  return Array.isArray(resources) ? resources.slice(0, MOST_RESOURCES).flatMap(parseResource) : [];
}

const urlOf = ({ host, port }: Address, path: string): string =>
  `https://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;

/** Fetches the discovery document. Never rejects. */
export async function checkDiscovery(
  { api, address, tls }: DiscoveryTarget,
  { componentPrefix }: Vocabulary,
  signal: AbortSignal,
): Promise<DiscoveryResult> {
  const path = apiPath(api.group, api.version);
  const url = urlOf(address, path);
  const failed = (problem: string): DiscoveryResult => ({ kind: 'failed', url, problem });
  const user = { name: `system:${componentPrefix}-aggregator`, groups: [MASTERS_GROUP], extra: {} };
  try {
    const response = await sendRequest({ address, tls, path, user }, signal);
    if (response.status < 200 || response.status > 299) return failed(`bad status ${response.status}`);
    return { kind: 'available', resources: parseResources(jsonOf(response)) };
  } catch (thrown) {
    return failed(messageOf(thrown));
  }
}
