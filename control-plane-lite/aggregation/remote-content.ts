/** Deletes the content of a namespace on aggregated servers. Source: upstream's namespace controller, which
 *  uses discovery for it. */

import type { APIResource } from '#api/gen/meta-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { serverUser } from '../authn/users.ts';
import type { Emptied, OtherContent, Remains } from '../controllers/skeleton/settings.ts';
import { apiPath, type RemoteApi } from './api-services.ts';
import { remoteTls, type Way } from './remote-server.ts';
import { jsonOf, type RemoteResponse, sendRequest } from './send-request.ts';

export interface RemoteContentDeps {
  readonly apis: () => Iterable<RemoteApi>;
  readonly resourcesOf: (name: string) => readonly APIResource[] | undefined;
  readonly findWay: (api: RemoteApi) => Way;
  readonly identity: () => Identity;
}

/** Page size: sufficient to detect remaining objects. */
const PAGE = 100;
const OPTIONS = { propagationPolicy: 'Background' };
const USER = serverUser('namespace-controller');

/** Reports whether a resource is namespaced and can be listed and deleted. */
export const isEmptiable = ({ name, namespaced, verbs }: APIResource): boolean =>
  namespaced &&
  !name.includes('/') &&
  verbs.includes('list') &&
  (verbs.includes('deletecollection') || verbs.includes('delete'));

interface Item {
  readonly name: string;
  readonly finalizers: readonly string[];
}

/** Returns the valid objects of a list from another server. */
export function parseItems(list: unknown): readonly Item[] {
  const items = isMutableObject(list) ? list['items'] : undefined;
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown): readonly Item[] => {
    const metadata = isMutableObject(item) ? item['metadata'] : undefined;
    if (!isMutableObject(metadata) || typeof metadata['name'] !== 'string') return [];
    const { name, finalizers } = metadata;
    const texts = Array.isArray(finalizers) ? finalizers.filter((each) => typeof each === 'string') : [];
    return [{ name, finalizers: texts }];
  });
}

export function createRemoteContent({
  apis,
  resourcesOf,
  findWay,
  identity,
}: RemoteContentDeps): OtherContent {
  async function send(
    api: RemoteApi,
    method: string,
    path: string,
    signal: AbortSignal,
  ): Promise<RemoteResponse> {
    const way = findWay(api);
    if (way.kind === 'unreachable') throw new Error(way.message);
    const remoteRequest = { address: way.address, tls: remoteTls(api, identity()), method, path, user: USER };
    const response = await sendRequest(
      method === 'DELETE' ? { ...remoteRequest, body: OPTIONS } : remoteRequest,
      signal,
    );
    // 404 and 405 are not failures: the content is gone, or the method is unsupported.
    if (response.status >= 300 && response.status !== 404 && response.status !== 405) {
      throw new Error(`${method} ${path} returned status ${response.status}`);
    }
    return response;
  }

  async function emptyResource(
    api: RemoteApi,
    { name, verbs }: APIResource,
    namespace: string,
    signal: AbortSignal,
  ): Promise<readonly Remains[]> {
    const path = `${apiPath(api.group, api.version)}/namespaces/${namespace}/${name}`;
    const list = async (): Promise<readonly Item[]> =>
      parseItems(jsonOf(await send(api, 'GET', `${path}?limit=${PAGE}`, signal)));
    const before = await list();
    if (before.length === 0) return [];
    if (verbs.includes('deletecollection')) await send(api, 'DELETE', path, signal);
    else {
      for (const item of before)
        await send(api, 'DELETE', `${path}/${encodeURIComponent(item.name)}`, signal);
    }
    const left = await list();
    const finalizers = left.flatMap((item) => item.finalizers);
    return left.length === 0 ? [] : [{ name: `${name}.${api.group}`, count: left.length, finalizers }];
  }

  return {
    async empty(namespace, signal) {
      const emptied = { failures: [] as Error[], remains: [] as Remains[], unknown: [] as string[] };
      for (const api of apis()) {
        const resources = api.available ? resourcesOf(api.name) : undefined;
        if (resources === undefined) {
          emptied.unknown.push(
            `${api.group}/${api.version}: the server is currently unable to handle the request`,
          );
          continue;
        }
        for (const resource of resources.filter(isEmptiable)) {
          try {
            emptied.remains.push(...(await emptyResource(api, resource, namespace, signal)));
          } catch (thrown) {
            emptied.failures.push(asError(thrown));
          }
        }
      }
      return emptied satisfies Emptied;
    },
  };
}
