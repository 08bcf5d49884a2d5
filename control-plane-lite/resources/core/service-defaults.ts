/** Service defaults that depend on several fields: both forms of its address, its IP families, and on update
 *  fields that the client omitted or that no longer apply. Pure; changes the draft only. Source: upstream's
 *  service registry, release 1.24. */

import type { ServiceSpec } from '#api/gen/core-v1.ts';
import { type IpFamily, ipFamilyOf } from '#api/meta/ip.ts';
import { sameContent } from '../content-diff.ts';
import type { ApiObject } from '../contract.ts';
import { draftSpec } from '../view.ts';
import {
  HEADLESS,
  isExternalName,
  isHeadless,
  needsHealthCheckPort,
  needsNodePorts,
  type SpecDraft,
  specOf,
  takesNodePorts,
} from './service-needs.ts';

const otherFamily = (family: IpFamily): IpFamily => (family === 'IPv4' ? 'IPv6' : 'IPv4');

/** A client that knows of one address only writes `clusterIP`. */
function alignClusterIPs(spec: SpecDraft, old: ServiceSpec | undefined): void {
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (old === undefined) {
    if (clusterIP !== '' && clusterIPs.length === 0) spec.clusterIPs = [clusterIP];
    return;
  }
  if (clusterIP === (old.clusterIP ?? '') || !sameContent(clusterIPs, old.clusterIPs ?? [])) return;
  if (clusterIP === '') delete spec.clusterIPs;
  else spec.clusterIPs = [clusterIP];
}

/** Derives IP families and their policy from the object and the cluster. */
function completeFamilies(spec: SpecDraft, cluster: readonly IpFamily[]): void {
  if (isExternalName(spec)) return;
  const selectorless = Object.keys(spec.selector ?? {}).length === 0;
  const addresses = (spec.clusterIPs ?? []).filter((ip) => ip !== HEADLESS);
  const families: IpFamily[] = [...(spec.ipFamilies ?? [])];
  for (const address of addresses.slice(families.length)) {
    const family = ipFamilyOf(address);
    if (family !== undefined) families.push(family);
  }
  const [first = cluster[0] ?? 'IPv4'] = families;
  if (families.length === 0) families.push(first);
  // The owner of such a service's endpoints may use any family.
  const anyFamily = isHeadless(spec) && selectorless;
  const several = families.length > 1 || addresses.length > 1;
  spec.ipFamilyPolicy ??= anyFamily || several ? 'RequireDualStack' : 'SingleStack';
  const dual = spec.ipFamilyPolicy !== 'SingleStack';
  if (dual && families.length === 1 && (anyFamily || cluster.length > 1)) families.push(otherFamily(first));
  spec.ipFamilies = families;
}

/** Values that were given out stay where the client doesn't mention them. */
function keepAllocated(spec: SpecDraft, old: ServiceSpec): void {
  if (!isExternalName(old) && !isExternalName(spec)) {
    if ((spec.clusterIP ?? '') === '' && old.clusterIP !== undefined) spec.clusterIP = old.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0 && spec.clusterIP === old.clusterIP) {
      if (old.clusterIPs !== undefined) spec.clusterIPs = old.clusterIPs;
    }
  }
  if (needsNodePorts(old) && needsNodePorts(spec)) keepNodePorts(spec, old);
  if (needsHealthCheckPort(old) && needsHealthCheckPort(spec) && (spec.healthCheckNodePort ?? 0) === 0) {
    if (old.healthCheckNodePort !== undefined) spec.healthCheckNodePort = old.healthCheckNodePort;
  }
}

const nodePortsOf = ({ ports = [] }: ServiceSpec): readonly number[] =>
  ports.map(({ nodePort = 0 }) => nodePort);

/** A port is the one of the same name before. */
function keepNodePorts(spec: SpecDraft, old: ServiceSpec): void {
  const mentioned = new Set(nodePortsOf(spec));
  const used = new Set(nodePortsOf(old).filter((port) => mentioned.has(port)));
  const byName = new Map((old.ports ?? []).map(({ name = '', nodePort = 0 }) => [name, nodePort]));
  spec.ports = (spec.ports ?? []).map((port) => {
    const before = byName.get(port.name ?? '') ?? 0;
    if ((port.nodePort ?? 0) !== 0 || before === 0 || used.has(before)) return port;
    used.add(before);
    return { ...port, nodePort: before };
  });
}

/** Drops a member of `names` that the client left as it was and the new type has no use for. */
function dropUnchanged(spec: SpecDraft, old: ServiceSpec, names: readonly (keyof ServiceSpec)[]): void {
  for (const name of names) if (sameContent(spec[name], old[name])) delete spec[name];
}

/** Clears the fields of the previous service type. */
function dropOfOldType(spec: SpecDraft, old: ServiceSpec): void {
  if (!isExternalName(old) && isExternalName(spec)) {
    const addresses = sameContent(spec.clusterIPs, old.clusterIPs) && spec.clusterIP === old.clusterIP;
    if (addresses) dropUnchanged(spec, old, ['clusterIP', 'clusterIPs']);
    dropUnchanged(spec, old, ['ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']);
  }
  if (needsNodePorts(old) && !needsNodePorts(spec) && sameContent(nodePortsOf(spec), nodePortsOf(old))) {
    spec.ports = (spec.ports ?? []).map(({ nodePort: _nodePort, ...port }) => port);
  }
  if (needsHealthCheckPort(old) && !needsHealthCheckPort(spec)) {
    dropUnchanged(spec, old, ['healthCheckNodePort']);
  }
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    dropUnchanged(spec, old, ['allocateLoadBalancerNodePorts', 'loadBalancerClass']);
  }
  if (takesNodePorts(old) && !takesNodePorts(spec)) dropUnchanged(spec, old, ['externalTrafficPolicy']);
}

/** A service that shall have one family from now on loses the second one. */
function dropSecondFamily(spec: SpecDraft, old: ServiceSpec): void {
  const wasDual = old.ipFamilyPolicy !== undefined && old.ipFamilyPolicy !== 'SingleStack';
  if (!wasDual || spec.ipFamilyPolicy !== 'SingleStack') return;
  if (spec.clusterIPs?.length === 2 && sameContent(spec.clusterIPs, old.clusterIPs)) {
    spec.clusterIPs = spec.clusterIPs.slice(0, 1);
  }
  if (spec.ipFamilies?.length === 2 && sameContent(spec.ipFamilies, old.ipFamilies)) {
    spec.ipFamilies = spec.ipFamilies.slice(0, 1);
  }
}

/** Omitted families mean the existing ones. */
function keepFamilies(spec: SpecDraft, old: ServiceSpec): void {
  if (isExternalName(spec) || isExternalName(old)) return;
  if (spec.ipFamilyPolicy === undefined && old.ipFamilyPolicy !== undefined) {
    spec.ipFamilyPolicy = old.ipFamilyPolicy;
  }
  const shrinks = spec.ipFamilyPolicy === 'SingleStack' && old.ipFamilyPolicy !== 'SingleStack';
  if ((spec.ipFamilies ?? []).length > 0 || old.ipFamilies === undefined) return;
  spec.ipFamilies = shrinks ? old.ipFamilies.slice(0, 1) : old.ipFamilies;
}

export function prepareServiceForCreate(draft: ApiObject, cluster: readonly IpFamily[]): void {
  const spec = draftSpec<ServiceSpec>(draft);
  alignClusterIPs(spec, undefined);
  completeFamilies(spec, cluster);
  draft['status'] = { loadBalancer: {} };
}

export function prepareServiceForUpdate(
  draft: ApiObject,
  oldObject: ApiObject,
  cluster: readonly IpFamily[],
): void {
  const spec = draftSpec<ServiceSpec>(draft);
  const old = specOf(oldObject);
  alignClusterIPs(spec, old);
  keepAllocated(spec, old);
  dropOfOldType(spec, old);
  keepFamilies(spec, old);
  dropSecondFamily(spec, old);
  completeFamilies(spec, cluster);
}
