/** APIServices parsed for routing: the group versions of aggregated servers, and their priorities. Pure.
 *  Source: apiregistration/v1; upstream's aggregator. */

import type { APIService } from '#api/gen/apiregistration-v1.ts';
import type { APIResource } from '#api/gen/meta-v1.ts';
import type { ExtraGroup } from '../discovery/groups.ts';
import { compareVersions } from '../discovery/version-order.ts';
import type { Handler } from '../http/contract.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';

/** Condition type. Requests are forwarded while it is True. */
export const AVAILABLE = 'Available';

const HTTPS_PORT = 443;

export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** A group's version of another server. */
export interface RemoteApi {
  /** Of the APIService: `<version>.<group>`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly service: ServiceRef;
  /** PEM; absent: the system's authorities. */
  readonly authority?: string;
  /** The server's certificate isn't checked. */
  readonly insecure: boolean;
  readonly available: boolean;
}

export const apiServiceName = (group: string, version: string): string => `${version}.${group}`;

/** Where a group's version is. */
export const apiPath = (group: string, version: string): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

/** `undefined` for an APIService of this server. */
export function readRemoteApi(object: ApiObject): RemoteApi | undefined {
  const { metadata, spec, status } = typed<APIService>(object);
  if (spec?.service === undefined) return undefined;
  const { service, caBundle = '' } = spec;
  const available = status?.conditions?.find(({ type }) => type === AVAILABLE);
  return {
    name: metadata?.name ?? '',
    group: spec.group ?? '',
    version: spec.version ?? '',
    groupPriority: spec.groupPriorityMinimum,
    versionPriority: spec.versionPriority,
    service: {
      namespace: service.namespace ?? '',
      name: service.name ?? '',
      port: service.port ?? HTTPS_PORT,
    },
    ...(caBundle === '' ? {} : { authority: Buffer.from(caBundle, 'base64').toString('utf8') }),
    insecure: spec.insecureSkipTLSVerify === true,
    available: available?.status === 'True',
  };
}

const byPriority = (left: RemoteApi, right: RemoteApi): number =>
  right.versionPriority - left.versionPriority || compareVersions(left.version, right.version);

function groupOf(
  group: string,
  apis: readonly RemoteApi[],
  resourcesOf: (name: string) => readonly APIResource[] | undefined,
  forward: Handler,
): ExtraGroup {
  const sorted = apis.toSorted(byPriority);
  const resources: Record<string, readonly APIResource[]> = {};
  for (const { name, version, available } of sorted) {
    const known = resourcesOf(name);
    if (available && known !== undefined) resources[version] = known;
  }
  return {
    group,
    versions: sorted.map(({ version }) => version),
    priority: Math.max(...apis.map(({ groupPriority }) => groupPriority)),
    resources,
    forward,
  };
}

/** Returns the aggregated groups for discovery. Versions of unavailable servers have no resources. */
export function extraGroups(
  apis: Iterable<RemoteApi>,
  resourcesOf: (name: string) => readonly APIResource[] | undefined,
  forward: Handler,
): readonly ExtraGroup[] {
  const groups = Map.groupBy(apis, ({ group }) => group);
  return [...groups].map(([group, members]) => groupOf(group, members, resourcesOf, forward));
}
