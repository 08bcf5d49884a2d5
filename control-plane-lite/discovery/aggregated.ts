/** Aggregated discovery: all groups, versions and resources in a single list, for clients that request it.
 *  Pure. Source: apidiscovery v2 and v2beta1, whose JSON is the same. */
import type { APIResource } from '#api/gen/meta-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type Clause, matches, parseAccept } from '../content/negotiation.ts';
import type { ServedGroup, ServedVersion } from './groups.ts';

const KIND = 'APIGroupDiscoveryList';
const JSON_TYPE = 'application/json';

export type DiscoveryVersion = 'v2' | 'v2beta1';

interface ResponseKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface SubresourceDiscovery {
  readonly subresource: string;
  readonly responseKind: ResponseKind;
  readonly verbs: readonly string[];
}

interface ResourceDiscovery {
  readonly resource: string;
  readonly responseKind: ResponseKind;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly SubresourceDiscovery[];
}

interface VersionDiscovery {
  readonly version: string;
  readonly resources: readonly ResourceDiscovery[];
  readonly freshness: 'Current' | 'Stale';
}

export interface GroupDiscoveryList {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: object;
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly creationTimestamp: null };
    readonly versions: readonly VersionDiscovery[];
  }[];
}

const groupOf = ({ apiGroupDomain }: Vocabulary): string => `apidiscovery.${apiGroupDomain}`;

/** Returns the version of the aggregated list that a clause of an Accept header requests. */
function askedVersion({ parameters }: Clause, vocabulary: Vocabulary): DiscoveryVersion | undefined {
  if (parameters.get('as') !== KIND || parameters.get('g') !== groupOf(vocabulary)) return undefined;
  const version = parameters.get('v');
  return version === 'v2' || version === 'v2beta1' ? version : undefined;
}

/** Reports whether a client prefers the aggregated list to the usual document. The first supported clause decides. */
export function aggregatedVersion(
  accept: string | undefined,
  vocabulary: Vocabulary,
): DiscoveryVersion | undefined {
  if (accept?.includes(KIND) !== true) return undefined;
  for (const clause of parseAccept(accept)) {
    const version = askedVersion(clause, vocabulary);
    if (version !== undefined && matches(clause, JSON_TYPE)) return version;
    if (!clause.parameters.has('as') && matches(clause, JSON_TYPE)) return undefined;
  }
  return undefined;
}

/** Returns the `Content-Type` that identifies the representation. */
export const aggregatedContentType = (version: DiscoveryVersion, vocabulary: Vocabulary): string =>
  `${JSON_TYPE};g=${groupOf(vocabulary)};v=${version};as=${KIND}`;

function kindOf({ group, version, kind }: APIResource, of: ResponseKind): ResponseKind {
  return { group: group ?? of.group, version: version ?? of.version, kind };
}

function resourceDiscovery(
  resource: APIResource,
  all: readonly APIResource[],
  of: ResponseKind,
): ResourceDiscovery {
  const { name, shortNames = [], categories = [] } = resource;
  const prefix = `${name}/`;
  const subresources = all
    .filter((other) => other.name.startsWith(prefix))
    .map((sub) => ({
      subresource: sub.name.slice(prefix.length),
      responseKind: kindOf(sub, of),
      verbs: sub.verbs,
    }));
  return {
    resource: name,
    responseKind: kindOf(resource, of),
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singularName === '' ? resource.kind.toLowerCase() : resource.singularName,
    verbs: resource.verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

function versionDiscovery(group: string, { version, resources }: ServedVersion): VersionDiscovery {
  const all = resources ?? [];
  const of = { group, version, kind: '' };
  return {
    version,
    resources: all
      .filter(({ name }) => !name.includes('/'))
      .map((resource) => resourceDiscovery(resource, all, of)),
    freshness: resources === undefined ? 'Stale' : 'Current',
  };
}

/** The list of these groups. */
export function groupDiscoveryList(
  groups: readonly ServedGroup[],
  version: DiscoveryVersion,
  vocabulary: Vocabulary,
): GroupDiscoveryList {
  return {
    kind: KIND,
    apiVersion: `${groupOf(vocabulary)}/${version}`,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { name, creationTimestamp: null },
      versions: versions.map((served) => versionDiscovery(name, served)),
    })),
  };
}
