/** Kinds that controllers read or write, by their plural names. All are served as v1. Pure. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';

interface KindFact {
  readonly group: string;
  /** The group's full name ends in the vocabulary's API group domain. */
  readonly hasDomain?: true;
}

export type KindName =
  | 'clusterroles'
  | 'certificatesigningrequests'
  | 'configmaps'
  | 'controllerrevisions'
  | 'cronjobs'
  | 'csidrivers'
  | 'csinodes'
  | 'daemonsets'
  | 'deployments'
  | 'endpoints'
  | 'endpointslices'
  | 'events'
  | 'horizontalpodautoscalers'
  | 'jobs'
  | 'leases'
  | 'namespaces'
  | 'nodes'
  | 'persistentvolumeclaims'
  | 'persistentvolumes'
  | 'poddisruptionbudgets'
  | 'pods'
  | 'replicasets'
  | 'replicationcontrollers'
  | 'resourcequotas'
  | 'secrets'
  | 'serviceaccounts'
  | 'services'
  | 'statefulsets'
  | 'storageclasses'
  | 'volumeattachments';

const KINDS: Readonly<Record<KindName, KindFact>> = {
  clusterroles: { group: 'rbac.authorization', hasDomain: true },
  certificatesigningrequests: { group: 'certificates', hasDomain: true },
  configmaps: { group: '' },
  controllerrevisions: { group: 'apps' },
  cronjobs: { group: 'batch' },
  csidrivers: { group: 'storage', hasDomain: true },
  csinodes: { group: 'storage', hasDomain: true },
  daemonsets: { group: 'apps' },
  deployments: { group: 'apps' },
  endpoints: { group: '' },
  endpointslices: { group: 'discovery', hasDomain: true },
  events: { group: '' },
  horizontalpodautoscalers: { group: 'autoscaling' },
  jobs: { group: 'batch' },
  leases: { group: 'coordination', hasDomain: true },
  namespaces: { group: '' },
  nodes: { group: '' },
  persistentvolumeclaims: { group: '' },
  persistentvolumes: { group: '' },
  poddisruptionbudgets: { group: 'policy' },
  pods: { group: '' },
  replicasets: { group: 'apps' },
  replicationcontrollers: { group: '' },
  resourcequotas: { group: '' },
  secrets: { group: '' },
  serviceaccounts: { group: '' },
  services: { group: '' },
  statefulsets: { group: 'apps' },
  storageclasses: { group: 'storage', hasDomain: true },
  volumeattachments: { group: 'storage', hasDomain: true },
};

const VERSION = 'v1';

/** Returns the API group of a kind; empty for the core group. */
export function groupOfKind(kind: KindName, { apiGroupDomain }: Pick<Vocabulary, 'apiGroupDomain'>): string {
  const { group, hasDomain = false } = KINDS[kind];
  return hasDomain ? `${group}.${apiGroupDomain}` : group;
}

/** Returns the kind's plural name with its group and without a domain, such as `jobs.batch`. */
export const displayKind = (kind: KindName): string => {
  const { group } = KINDS[kind];
  return group === '' ? kind : `${kind}.${group}`;
};

/** Returns the served resource of a kind; `undefined` if it is not served. */
export const findKind = (
  registry: Pick<ResourceRegistry, 'find'>,
  kind: KindName,
  vocabulary: Pick<Vocabulary, 'apiGroupDomain'>,
): Resource | undefined => registry.find(groupOfKind(kind, vocabulary), VERSION, kind);
