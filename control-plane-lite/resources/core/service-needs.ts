/** Resources that a service of a given type requires: addresses, node ports, a health check port. Pure. */
import type { Service, ServiceSpec } from '#api/gen/core-v1.ts';
import type { ApiObject, Draft } from '../contract.ts';
import { typed } from '../view.ts';

/** The word in place of an address in services without one. */
export const HEADLESS = 'None';

export const specOf = (object: ApiObject): ServiceSpec => typed<Service>(object).spec ?? {};

export const ownerOf = ({ metadata }: ApiObject): string =>
  `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

export const isExternalName = ({ type }: ServiceSpec): boolean => type === 'ExternalName';

export const isHeadless = ({ clusterIPs = [] }: ServiceSpec): boolean =>
  clusterIPs.length === 1 && clusterIPs[0] === HEADLESS;

export const needsNodePorts = ({ type, allocateLoadBalancerNodePorts }: ServiceSpec): boolean =>
  type === 'NodePort' || (type === 'LoadBalancer' && allocateLoadBalancerNodePorts !== false);

export const needsHealthCheckPort = ({ type, externalTrafficPolicy }: ServiceSpec): boolean =>
  type === 'LoadBalancer' && externalTrafficPolicy === 'Local';

/** Node ports of external load balancers may be specified even if none are allocated. */
export const takesNodePorts = ({ type }: ServiceSpec): boolean =>
  type === 'NodePort' || type === 'LoadBalancer';

export interface Holdings {
  readonly clusterIPs: readonly string[];
  /** Each once, whatever the protocols are. */
  readonly nodePorts: readonly number[];
}

/** The values from shared pools that the service has. */
export function holdingsOf(object: ApiObject): Holdings {
  const spec = specOf(object);
  const clusterIPs = isExternalName(spec) || isHeadless(spec) ? [] : (spec.clusterIPs ?? []);
  const ports = takesNodePorts(spec) ? (spec.ports ?? []).map(({ nodePort = 0 }) => nodePort) : [];
  const health = needsHealthCheckPort(spec) ? (spec.healthCheckNodePort ?? 0) : 0;
  return { clusterIPs, nodePorts: [...new Set([...ports, health].filter((port) => port !== 0))] };
}

/** The spec to be changed. */
export type SpecDraft = Draft<ServiceSpec>;
