/** Validation of a service: ports, session affinity, names, traffic policies, load balancer. Source:
 *  upstream's service validation, release 1.24. */

import type { Service, ServicePort, ServiceSpec } from '#api/gen/core-v1.ts';
import { IP_FAULT, ipFamilyOf, nonSpecialIpFaults, parseIpRange } from '#api/meta/ip.ts';
import { validateLabels } from '#api/meta/labels.ts';
import {
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  portNameFaults,
  portNumberFaults,
  qualifiedNameFaults,
} from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { isExternalName, isHeadless, needsHealthCheckPort, takesNodePorts } from './service-needs.ts';

/** Port of the node agent, which external addresses must not take over. */
const NODE_AGENT_PORT = 10_250;
const MAX_AFFINITY_SECONDS = 86_400;
const FOR_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'";

function validatePort(faults: Faults, servicePort: ServicePort, path: string): void {
  const { port, targetPort = port, protocol = '', appProtocol } = servicePort;
  faults.invalidAll(`${path}.port`, port, portNumberFaults(port));
  if (protocol === '') faults.required(`${path}.protocol`);
  const reasons = typeof targetPort === 'number' ? portNumberFaults(targetPort) : portNameFaults(targetPort);
  faults.invalidAll(`${path}.targetPort`, targetPort, reasons);
  if (appProtocol !== undefined) {
    faults.invalidAll(`${path}.appProtocol`, appProtocol, qualifiedNameFaults(appProtocol));
  }
}

function validatePorts(faults: Faults, spec: ServiceSpec): void {
  const { ports = [], type } = spec;
  if (ports.length === 0 && !isHeadless(spec) && !isExternalName(spec)) faults.required('spec.ports');
  const names = new Set<string>();
  const numbers = new Set<string>();
  const nodePorts = new Set<string>();
  for (const [index, servicePort] of ports.entries()) {
    const path = `spec.ports[${index}]`;
    const { name = '', port, protocol = 'TCP', nodePort = 0 } = servicePort;
    if (name === '') {
      if (ports.length > 1) faults.required(`${path}.name`);
    } else {
      faults.invalidAll(`${path}.name`, name, dns1123LabelFaults(name));
      if (names.has(name)) faults.duplicate(`${path}.name`, name);
      names.add(name);
    }
    validatePort(faults, servicePort, path);
    if (type === 'LoadBalancer' && port === NODE_AGENT_PORT) {
      faults.invalid(path, port, `may not expose port ${port} externally since it is used by the node agent`);
    }
    if (numbers.has(`${protocol}/${port}`)) faults.duplicate(path, { protocol, port });
    numbers.add(`${protocol}/${port}`);
    if (nodePort === 0) continue;
    if (type === 'ClusterIP' || type === 'ExternalName') {
      faults.forbidden(`${path}.nodePort`, `may not be used when \`type\` is '${type}'`);
    }
    if (nodePorts.has(`${protocol}/${nodePort}`)) faults.duplicate(`${path}.nodePort`, nodePort);
    nodePorts.add(`${protocol}/${nodePort}`);
  }
}

function validateType(faults: Faults, spec: ServiceSpec): void {
  const { type, externalName = '' } = spec;
  if (takesNodePorts(spec) && isHeadless(spec)) {
    faults.invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`);
  }
  if (!isExternalName(spec)) return;
  // A trailing dot marks a fully qualified name.
  const name = externalName.replace(/\.$/, '');
  if (name === '') faults.required('spec.externalName');
  else faults.invalidAll('spec.externalName', name, dns1123SubdomainFaults(name));
}

function validateAffinity(faults: Faults, { sessionAffinity, sessionAffinityConfig }: ServiceSpec): void {
  const path = 'spec.sessionAffinityConfig';
  if (sessionAffinity === undefined) return faults.required('spec.sessionAffinity');
  if (sessionAffinity === 'None') {
    if (sessionAffinityConfig !== undefined) {
      faults.forbidden(path, 'must not be set when session affinity is None');
    }
    return undefined;
  }
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  const at = `${path}.clientIP.timeoutSeconds`;
  if (seconds === undefined) faults.required(at, 'when session affinity type is ClientIP');
  else if (seconds <= 0 || seconds > MAX_AFFINITY_SECONDS) {
    faults.invalid(at, seconds, `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`);
  }
  return undefined;
}

function validateTraffic(faults: Faults, spec: ServiceSpec): void {
  const { externalTrafficPolicy, healthCheckNodePort = 0 } = spec;
  if (externalTrafficPolicy !== undefined && !takesNodePorts(spec)) {
    faults.invalid(
      'spec.externalTrafficPolicy',
      externalTrafficPolicy,
      'ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service',
    );
  }
  if (healthCheckNodePort < 0) {
    faults.invalid(
      'spec.healthCheckNodePort',
      healthCheckNodePort,
      'HealthCheckNodePort must be not less than 0',
    );
  } else if (healthCheckNodePort !== 0 && !needsHealthCheckPort(spec)) {
    faults.invalid(
      'spec.healthCheckNodePort',
      healthCheckNodePort,
      'HealthCheckNodePort can only be set on LoadBalancer service with ExternalTrafficPolicy=Local',
    );
  }
}

function validateLoadBalancer(faults: Faults, service: Service, { domain }: Vocabulary): void {
  const spec = service.spec ?? {};
  const { loadBalancerSourceRanges = [], loadBalancerClass, allocateLoadBalancerNodePorts } = spec;
  const balances = spec.type === 'LoadBalancer';
  const annotation = `service.beta.${domain}/load-balancer-source-ranges`;
  const annotated = service.metadata?.annotations?.[annotation];
  const fromSpec = loadBalancerSourceRanges.length > 0;
  const ranges = fromSpec ? loadBalancerSourceRanges : (annotated ?? '').split(',');
  if (fromSpec || annotated !== undefined) {
    const path = fromSpec ? 'spec.loadBalancerSourceRanges' : `metadata.annotations[${annotation}]`;
    if (!balances) faults.forbidden(path, FOR_LOAD_BALANCER);
    const given = ranges.map((range) => range.trim()).filter((range) => range !== '' || fromSpec);
    if (given.some((range) => parseIpRange(range) === undefined)) {
      faults.invalid(path, given, 'must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24');
    }
  }
  if (allocateLoadBalancerNodePorts !== undefined && !balances) {
    faults.forbidden('spec.allocateLoadBalancerNodePorts', FOR_LOAD_BALANCER);
  }
  if (loadBalancerClass === undefined) return;
  if (!balances) faults.forbidden('spec.loadBalancerClass', FOR_LOAD_BALANCER);
  faults.invalidAll('spec.loadBalancerClass', loadBalancerClass, qualifiedNameFaults(loadBalancerClass));
}

/** Reports every error of a service except those of its metadata, name and addresses. */
export function validateServiceContent(faults: Faults, service: Service, vocabulary: Vocabulary): void {
  const spec = service.spec ?? {};
  validatePorts(faults, spec);
  validateType(faults, spec);
  for (const { kind, field, detail, badValue } of validateLabels(spec.selector ?? {}, 'spec.selector')) {
    faults.add(kind, field, detail, badValue);
  }
  validateAffinity(faults, spec);
  for (const [index, ip] of (spec.externalIPs ?? []).entries()) {
    faults.invalidAll(`spec.externalIPs[${index}]`, ip, nonSpecialIpFaults(ip));
  }
  validateTraffic(faults, spec);
  validateLoadBalancer(faults, service, vocabulary);
}

/** A load balancer's class is chosen once. */
export function validateClassChange(faults: Faults, spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.type !== 'LoadBalancer' || old.type !== 'LoadBalancer') return;
  if (spec.loadBalancerClass !== old.loadBalancerClass) {
    faults.invalid('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set');
  }
}

/** Reports every error in the status of a load balancer. */
export function validateServiceStatus(faults: Faults, { status }: Service): void {
  for (const [index, { ip = '', hostname = '' }] of (status?.loadBalancer?.ingress ?? []).entries()) {
    const path = `status.loadBalancer.ingress[${index}]`;
    if (ip !== '' && ipFamilyOf(ip) === undefined) faults.invalid(`${path}.ip`, ip, IP_FAULT);
    if (hostname === '') continue;
    if (ipFamilyOf(hostname) !== undefined) {
      faults.invalid(`${path}.hostname`, hostname, 'must be a DNS name, not an IP address');
    } else faults.invalidAll(`${path}.hostname`, hostname, dns1123SubdomainFaults(hostname));
  }
}
