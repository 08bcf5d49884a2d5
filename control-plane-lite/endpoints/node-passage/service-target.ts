/** Which pod answers for a service. Pure but for the choice among equals.
 *  Source: upstream's service proxy. */
import { StatusError } from '#api/meta/status-error.ts';
import type { EndpointAddress, Endpoints, Pod, Service } from '#api/schema/gen/core-v1.ts';
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

/** The name of the port that is asked for; a number is that of one of the service's ports.
 *  @throws StatusError ServiceUnavailable */
function portName({ spec, metadata }: Service, port: string): string {
  const number = parsePort(port);
  if (number === undefined) return port;
  const found = spec?.ports?.find((each) => each.port === number);
  if (found !== undefined) return found.name ?? '';
  throw unavailable(`no service port ${port} found for service ${JSON.stringify(metadata?.name ?? '')}`);
}

/** Whether the address is that of the pod that it is said to be: whoever writes Endpoints could name any other. */
function isOfItsPod(
  { ip, targetRef }: EndpointAddress,
  namespace: string,
  pod: ServiceState['pod'],
): boolean {
  if (targetRef?.kind !== 'Pod' || targetRef.namespace !== namespace) return false;
  const status = pod(namespace, targetRef.name ?? '')?.status;
  return status?.podIP === ip || status?.podIPs?.some((each) => each.ip === ip) === true;
}

/** @param choose a whole number from 0 to below the count
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
