/** Validation of a service: ports, session affinity, names, traffic policies, load balancer. Source:
 *  upstream's service validation, release 1.24. */

import type { Service, ServicePort, ServiceSpec } from '#api/gen/core-v1.ts';
import { IP_ERROR, ipFamilyOf, nonSpecialIpErrors, parseIpRange } from '#api/meta/ip.ts';
import { validateLabels } from '#api/meta/labels.ts';
import {
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  portNameErrors,
  portNumberErrors,
  qualifiedNameErrors,
} from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { isExternalName, isHeadless, needsHealthCheckPort, takesNodePorts } from './service-needs.ts';

/** Port of the node agent, which external addresses must not take over. */
const NODE_AGENT_PORT = 10_250;
const MAX_AFFINITY_SECONDS = 86_400;
const FOR_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'";

function validatePort(errors: FieldErrors, servicePort: ServicePort, path: string): void {
  const { port, targetPort = port, protocol = '', appProtocol } = servicePort;
  errors.invalidAll(`${path}.port`, port, portNumberErrors(port));
  if (protocol === '') errors.required(`${path}.protocol`);
  const reasons = typeof targetPort === 'number' ? portNumberErrors(targetPort) : portNameErrors(targetPort);
  errors.invalidAll(`${path}.targetPort`, targetPort, reasons);
  if (appProtocol !== undefined) {
    errors.invalidAll(`${path}.appProtocol`, appProtocol, qualifiedNameErrors(appProtocol));
  }
}

function validatePorts(errors: FieldErrors, spec: ServiceSpec): void {
  const { ports = [], type } = spec;
  if (ports.length === 0 && !isHeadless(spec) && !isExternalName(spec)) errors.required('spec.ports');
  const names = new Set<string>();
  const numbers = new Set<string>();
  const nodePorts = new Set<string>();
  for (const [index, servicePort] of ports.entries()) {
    const path = `spec.ports[${index}]`;
    const { name = '', port, protocol = 'TCP', nodePort = 0 } = servicePort;
    if (name === '') {
      if (ports.length > 1) errors.required(`${path}.name`);
    } else {
      errors.invalidAll(`${path}.name`, name, dns1123LabelErrors(name));
      if (names.has(name)) errors.duplicate(`${path}.name`, name);
      names.add(name);
    }
    validatePort(errors, servicePort, path);
    if (type === 'LoadBalancer' && port === NODE_AGENT_PORT) {
      errors.invalid(path, port, `may not expose port ${port} externally since it is used by the node agent`);
    }
    if (numbers.has(`${protocol}/${port}`)) errors.duplicate(path, { protocol, port });
    numbers.add(`${protocol}/${port}`);
    if (nodePort === 0) continue;
    if (type === 'ClusterIP' || type === 'ExternalName') {
      errors.forbidden(`${path}.nodePort`, `may not be used when \`type\` is '${type}'`);
    }
    if (nodePorts.has(`${protocol}/${nodePort}`)) errors.duplicate(`${path}.nodePort`, nodePort);
    nodePorts.add(`${protocol}/${nodePort}`);
  }
}

const mixesProtocols = ({ type, ports = [] }: ServiceSpec): boolean =>
  type === 'LoadBalancer' && new Set(ports.map(({ protocol = 'TCP' }) => protocol)).size > 1;

/** Load balancers of several protocols need the gate MixedProtocolLBService, unless the service is one already. */
export function validateProtocols(
  errors: FieldErrors,
  spec: ServiceSpec,
  old: ServiceSpec,
  gates: ReadonlySet<string>,
): void {
  if (gates.has('MixedProtocolLBService') || !mixesProtocols(spec) || mixesProtocols(old)) return;
  errors.invalid('spec.ports', spec.ports, 'cannot create an external load balancer with mix protocols');
}

function validateType(errors: FieldErrors, spec: ServiceSpec): void {
  const { type, externalName = '' } = spec;
  if (takesNodePorts(spec) && isHeadless(spec)) {
    errors.invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`);
  }
  if (!isExternalName(spec)) return;
  // A trailing dot marks a fully qualified name.
  const name = externalName.replace(/\.$/, '');
  if (name === '') errors.required('spec.externalName');
  else errors.invalidAll('spec.externalName', name, dns1123SubdomainErrors(name));
}

function validateAffinity(
  errors: FieldErrors,
  { sessionAffinity, sessionAffinityConfig }: ServiceSpec,
): void {
  const path = 'spec.sessionAffinityConfig';
  if (sessionAffinity === undefined) return errors.required('spec.sessionAffinity');
  if (sessionAffinity === 'None') {
    if (sessionAffinityConfig !== undefined) {
      errors.forbidden(path, 'must not be set when session affinity is None');
    }
    return undefined;
  }
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  const at = `${path}.clientIP.timeoutSeconds`;
  if (seconds === undefined) errors.required(at, 'when session affinity type is ClientIP');
  else if (seconds <= 0 || seconds > MAX_AFFINITY_SECONDS) {
    errors.invalid(at, seconds, `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`);
  }
  return undefined;
}

function validateTraffic(errors: FieldErrors, spec: ServiceSpec): void {
  const { externalTrafficPolicy, healthCheckNodePort = 0 } = spec;
  if (externalTrafficPolicy !== undefined && !takesNodePorts(spec)) {
    errors.invalid(
      'spec.externalTrafficPolicy',
      externalTrafficPolicy,
      'ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service',
    );
  }
  if (healthCheckNodePort < 0) {
    errors.invalid(
      'spec.healthCheckNodePort',
      healthCheckNodePort,
      'HealthCheckNodePort must be not less than 0',
    );
  } else if (healthCheckNodePort !== 0 && !needsHealthCheckPort(spec)) {
    errors.invalid(
      'spec.healthCheckNodePort',
      healthCheckNodePort,
      'HealthCheckNodePort can only be set on LoadBalancer service with ExternalTrafficPolicy=Local',
    );
  }
}

function validateLoadBalancer(errors: FieldErrors, service: Service, { domain }: Vocabulary): void {
  const spec = service.spec ?? {};
  const { loadBalancerSourceRanges = [], loadBalancerClass, allocateLoadBalancerNodePorts } = spec;
  const balances = spec.type === 'LoadBalancer';
  const annotation = `service.beta.${domain}/load-balancer-source-ranges`;
  const annotated = service.metadata?.annotations?.[annotation];
  const fromSpec = loadBalancerSourceRanges.length > 0;
  const ranges = fromSpec ? loadBalancerSourceRanges : (annotated ?? '').split(',');
  if (fromSpec || annotated !== undefined) {
    const path = fromSpec ? 'spec.loadBalancerSourceRanges' : `metadata.annotations[${annotation}]`;
    if (!balances) errors.forbidden(path, FOR_LOAD_BALANCER);
    const given = ranges.map((range) => range.trim()).filter((range) => range !== '' || fromSpec);
    if (given.some((range) => parseIpRange(range) === undefined)) {
      errors.invalid(path, given, 'must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24');
    }
  }
  if (allocateLoadBalancerNodePorts !== undefined && !balances) {
    errors.forbidden('spec.allocateLoadBalancerNodePorts', FOR_LOAD_BALANCER);
  }
  if (loadBalancerClass === undefined) return;
  if (!balances) errors.forbidden('spec.loadBalancerClass', FOR_LOAD_BALANCER);
  errors.invalidAll('spec.loadBalancerClass', loadBalancerClass, qualifiedNameErrors(loadBalancerClass));
}

/** Reports every error of a service except those of its metadata, name and addresses. */
export function validateServiceContent(errors: FieldErrors, service: Service, vocabulary: Vocabulary): void {
  const spec = service.spec ?? {};
  validatePorts(errors, spec);
  validateType(errors, spec);
  for (const { kind, field, detail, badValue } of validateLabels(spec.selector ?? {}, 'spec.selector')) {
    errors.add(kind, field, detail, badValue);
  }
  validateAffinity(errors, spec);
  for (const [index, ip] of (spec.externalIPs ?? []).entries()) {
    errors.invalidAll(`spec.externalIPs[${index}]`, ip, nonSpecialIpErrors(ip));
  }
  validateTraffic(errors, spec);
  validateLoadBalancer(errors, service, vocabulary);
}

/** A load balancer's class is chosen once. */
export function validateClassChange(errors: FieldErrors, spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.type !== 'LoadBalancer' || old.type !== 'LoadBalancer') return;
  if (spec.loadBalancerClass !== old.loadBalancerClass) {
    errors.invalid('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set');
  }
}

/** Reports every error in the status of a load balancer. */
export function validateServiceStatus(errors: FieldErrors, { status }: Service): void {
  for (const [index, { ip = '', hostname = '' }] of (status?.loadBalancer?.ingress ?? []).entries()) {
    const path = `status.loadBalancer.ingress[${index}]`;
    if (ip !== '' && ipFamilyOf(ip) === undefined) errors.invalid(`${path}.ip`, ip, IP_ERROR);
    if (hostname === '') continue;
    if (ipFamilyOf(hostname) !== undefined) {
      errors.invalid(`${path}.hostname`, hostname, 'must be a DNS name, not an IP address');
    } else errors.invalidAll(`${path}.hostname`, hostname, dns1123SubdomainErrors(hostname));
  }
}
