/** Selects the endpoint of a proxied service. Pure except for the random choice.
 *  Source: upstream's service proxy. */

import type { EndpointAddress, Endpoints, Pod, Service } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { type ProxyName, parsePort } from './proxy-name.ts';

export interface ServiceState {
  readonly service: Service;
  readonly endpoints: Endpoints | undefined;
  readonly pod: (namespace: string, name: string) => Pod | undefined;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const unavailable = (message: string): StatusError => new StatusError('ServiceUnavailable', message);

/** Returns the name of the requested port; a number is that of one of the service's ports.
 *  @throws StatusError ServiceUnavailable */
function portName({ spec, metadata }: Service, port: string): string {
  const number = parsePort(port);
  if (number === undefined) return port;
  const found = spec?.ports?.find((each) => each.port === number);
  if (found !== undefined) return found.name ?? '';
  throw unavailable(`no service port ${port} found for service ${JSON.stringify(metadata?.name ?? '')}`);
}

/** Reports whether the address belongs to the pod that the endpoint references: a writer of Endpoints could
 *  name any other address. */
function isOfItsPod(
  { ip, targetRef }: EndpointAddress,
  namespace: string,
  pod: ServiceState['pod'],
): boolean {
  if (targetRef?.kind !== 'Pod' || targetRef.namespace !== namespace) return false;
  const status = pod(namespace, targetRef.name ?? '')?.status;
  return status?.podIP === ip || status?.podIPs?.some((each) => each.ip === ip) === true;
}

/** @param choose returns a random integer from 0 to below the count
 *  @throws StatusError ServiceUnavailable */
export function serviceEndpoint(
  { service, endpoints, pod }: ServiceState,
  { name, port }: ProxyName,
  choose: (count: number) => number,
): Endpoint {
  const namespace = service.metadata?.namespace ?? '';
  const wanted = portName(service, port);
  const found = (endpoints?.subsets ?? []).flatMap(({ addresses = [], ports = [] }) => {
    const number = ports.find((each) => (each.name ?? '') === wanted)?.port;
    if (number === undefined) return [];
    return addresses
      .filter((address) => isOfItsPod(address, namespace, pod))
      .map(({ ip }) => ({ host: ip, port: number }));
  });
  const endpoint = found[choose(found.length)];
  if (endpoint === undefined) throw unavailable(`no endpoints available for service ${JSON.stringify(name)}`);
  return endpoint;
}
