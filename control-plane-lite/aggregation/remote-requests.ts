/** Requests of controllers to the APIs of aggregated servers. */
import type { APIResource } from '#api/gen/meta-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { serverUser } from '../authn/users.ts';
import type { AggregatedApis } from '../controllers/skeleton/settings.ts';
import { compareVersions } from '../discovery/version-order.ts';
import { apiPath, type RemoteApi } from './api-services.ts';
import { remoteTls, type Way } from './remote-server.ts';
import { jsonOf, type RemoteResponse, sendRequest } from './send-request.ts';

export interface RemoteRequestsDeps {
  readonly find: (group: string, version: string) => RemoteApi | undefined;
  readonly apis: () => Iterable<RemoteApi>;
  readonly resourcesOf: (name: string) => readonly APIResource[] | undefined;
  readonly findWay: (api: RemoteApi) => Way;
  readonly identity: () => Identity;
  /** Name of the controller that sends the requests. */
  readonly controller: string;
}

const UNAVAILABLE = 'the server is currently unable to handle the request';
const NOT_FOUND = 'the server could not find the requested resource';

const byPreference = (left: RemoteApi, right: RemoteApi): number =>
  right.versionPriority - left.versionPriority || compareVersions(left.version, right.version);

/** Returns the message of a Status, or one for the status code. */
function reasonOf(response: RemoteResponse): string {
  const body = jsonOf(response);
  const message = isMutableObject(body) ? body['message'] : undefined;
  if (typeof message === 'string' && message !== '') return message;
  return response.status === 404 ? NOT_FOUND : `the server responded with status ${response.status}`;
}

interface FoundKind {
  readonly plural: string;
  readonly isScalable: boolean;
}

/** `undefined`: the server does not serve the kind in namespaces. */
function kindIn(resources: readonly APIResource[], kind: string): FoundKind | undefined {
  const found = resources.find((each) => each.kind === kind && each.namespaced && !each.name.includes('/'));
  if (found === undefined) return undefined;
  return { plural: found.name, isScalable: resources.some(({ name }) => name === `${found.name}/scale`) };
}

export function createRemoteRequests(deps: RemoteRequestsDeps): AggregatedApis {
  const user = serverUser(deps.controller);
  const versionsOf = (group: string): readonly RemoteApi[] =>
    [...deps.apis()].filter((api) => api.group === group).toSorted(byPreference);

  return {
    versionsOf: (group) => versionsOf(group).map(({ version }) => version),
    findKind(group, kind) {
      const found = versionsOf(group).flatMap(({ name, version }) => {
        const resource = kindIn(deps.resourcesOf(name) ?? [], kind);
        return resource === undefined ? [] : [{ group, version, ...resource }];
      });
      return found.find(({ isScalable }) => isScalable) ?? found[0];
    },
    async send({ group, version, method, path, body }, signal) {
      const api = deps.find(group, version);
      if (api === undefined) throw new Error(NOT_FOUND);
      if (!api.available) throw new Error(UNAVAILABLE);
      const way = deps.findWay(api);
      if (way.kind === 'unreachable') throw new Error(way.message);
      const request = {
        address: way.address,
        tls: remoteTls(api, deps.identity()),
        method,
        path: `${apiPath(group, version)}${path}`,
        user,
      };
      const response = await sendRequest(body === undefined ? request : { ...request, body }, signal);
      if (response.status < 200 || response.status > 299) throw new Error(reasonOf(response));
      return jsonOf(response);
    },
  };
}
