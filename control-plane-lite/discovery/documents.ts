/** Documents of `/api`, `/apis` and the paths below them. Pure. Source: discovery, document 1 §4.1; meta/v1
 *  of the facts. */
import type {
  APIGroup,
  APIGroupList,
  APIResourceList,
  APIVersions,
  GroupVersionForDiscovery,
} from '#api/gen/meta-v1.ts';
import { apiVersionOf } from '../resources/facts.ts';
import type { ServedGroup, ServedVersion } from './groups.ts';

/** Kinds of discovery are of the same version whatever they describe. */
const API_VERSION = 'v1';

const groupVersion = (group: string, version: string): GroupVersionForDiscovery => ({
  groupVersion: apiVersionOf({ group, version }),
  version,
});

/** `/api`: versions of the core group, and where clients find the server. */
export function apiVersions(core: ServedGroup | undefined, serverAddress: string): APIVersions {
  return {
    kind: 'APIVersions',
    apiVersion: API_VERSION,
    versions: (core?.versions ?? []).map(({ version }) => version),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

function groupMembers({ name, versions }: ServedGroup): APIGroup {
  const [preferred] = versions;
  return {
    name,
    versions: versions.map(({ version }) => groupVersion(name, version)),
    ...(preferred === undefined ? {} : { preferredVersion: groupVersion(name, preferred.version) }),
  };
}

/** `/apis/<group>` */
export function apiGroup(group: ServedGroup): APIGroup {
  return { kind: 'APIGroup', apiVersion: API_VERSION, ...groupMembers(group) };
}

/** `/apis`: all groups but the core group. */
export function apiGroupList(groups: readonly ServedGroup[]): APIGroupList {
  return {
    kind: 'APIGroupList',
    apiVersion: API_VERSION,
    groups: groups.filter(({ name }) => name !== '').map(groupMembers),
  };
}

/** `/api/v1`, `/apis/<group>/<version>` */
export function apiResourceList(
  { name }: ServedGroup,
  { version, resources }: ServedVersion,
): APIResourceList {
  return {
    kind: 'APIResourceList',
    apiVersion: API_VERSION,
    groupVersion: apiVersionOf({ group: name, version }),
    resources: resources ?? [],
  };
}

/** Every path of discovery, for `/`. */
export function discoveryPaths(groups: readonly ServedGroup[]): readonly string[] {
  return groups.flatMap(({ name, versions }) => {
    const root = name === '' ? '/api' : `/apis/${name}`;
    return [root, ...versions.map(({ version }) => `${root}/${version}`)];
  });
}
