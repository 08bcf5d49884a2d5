/** Quota usage of an object. Pure. Source: upstream's quota evaluators, release 1.24. */

import type { PersistentVolumeClaim, Pod, Service } from '#api/gen/core-v1.ts';
import { compareQuantities, parseQuantity } from '#api/meta/quantity.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, ResourceInfo } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import { type Amounts, countOf } from './amounts.ts';
import { podUsage } from './pods.ts';

/** Kinds with a quota name of their own, besides `count/…`. */
const NAMED: ReadonlySet<string> = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
]);

export type Domains = Pick<Vocabulary, 'domain' | 'apiGroupDomain'>;

type Kind = Pick<ResourceInfo, 'group' | 'plural'>;

/** `count/deployments.apps`, `count/pods`. */
const countName = ({ group, plural }: Kind): string => `count/${plural}${group === '' ? '' : `.${group}`}`;

function serviceUsage({ spec }: Service): Amounts {
  const ports = spec?.ports ?? [];
  const isBalanced = spec?.type === 'LoadBalancer';
  const isOpen = spec?.type === 'NodePort' || (isBalanced && spec.allocateLoadBalancerNodePorts !== false);
  const chosen = ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
  const nodePorts = isOpen ? ports.length : isBalanced ? chosen : 0;
  return new Map([
    ['services.nodeports', countOf(nodePorts)],
    ['services.loadbalancers', countOf(isBalanced ? 1 : 0)],
  ]);
}

function claimUsage(
  { metadata, spec, status }: PersistentVolumeClaim,
  { domain, apiGroupDomain }: Domains,
): Amounts {
  const requested = parseQuantity(spec?.resources?.requests?.['storage'] ?? '0');
  const given = parseQuantity(status?.allocatedResources?.['storage'] ?? '0');
  const storage = compareQuantities(requested, given) < 0 ? given : requested;
  const annotated = metadata?.annotations?.[`volume.beta.${domain}/storage-class`];
  const storageClass = annotated ?? spec?.storageClassName ?? '';
  const suffix = `${storageClass}.storageclass.storage.${apiGroupDomain}`;
  const ofClass =
    storageClass === ''
      ? []
      : ([
          [`${suffix}/requests.storage`, storage],
          [`${suffix}/persistentvolumeclaims`, countOf(1)],
        ] as const);
  return new Map([['requests.storage', storage], ...ofClass]);
}

/** Returns the usage by quota resource name. */
export function usageOf(kind: Kind, object: ApiObject, domains: Domains, nowMs: number): Amounts {
  const own = kind.group === '' ? ownUsage(kind.plural, object, domains, nowMs) : [];
  return new Map([[countName(kind), countOf(1)], ...own]);
}

function ownUsage(plural: string, object: ApiObject, domains: Domains, nowMs: number): Amounts {
  if (plural === 'pods') return podUsage(typed<Pod>(object), nowMs);
  const count: Amounts = NAMED.has(plural) ? new Map([[plural, countOf(1)]]) : new Map();
  if (plural === 'services') return new Map([...count, ...serviceUsage(typed<Service>(object))]);
  if (plural === 'persistentvolumeclaims') {
    return new Map([...count, ...claimUsage(typed<PersistentVolumeClaim>(object), domains)]);
  }
  return count;
}

/** Reports whether the kind can use the quota resource of this name. */
export function concernsKind({ group, plural }: Kind, name: string, domains: Domains): boolean {
  if (name === countName({ group, plural })) return true;
  if (group !== '') return false;
  if (plural === 'pods') return isOfPods(name);
  if (plural === 'persistentvolumeclaims' && isOfClaims(name, domains)) return true;
  if (plural === 'services' && name.startsWith('services.')) return true;
  return NAMED.has(plural) && name === plural;
}

const isOfClaims = (name: string, { apiGroupDomain }: Domains): boolean =>
  name === 'requests.storage' || name.includes(`.storageclass.storage.${apiGroupDomain}/`);

const isOfPods = (name: string): boolean =>
  ['pods', 'cpu', 'memory', 'ephemeral-storage'].includes(name) ||
  name.startsWith('limits.') ||
  name.startsWith('hugepages-') ||
  (name.startsWith('requests.') && name !== 'requests.storage');
