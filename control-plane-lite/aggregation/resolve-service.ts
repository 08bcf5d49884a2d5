/** Resolves the service that an APIService names to an address. Pure. Source: upstream's service resolvers
 *  and its availability controller. */
import type { Endpoints, Service } from '#api/gen/core-v1.ts';
import type { EndpointSlice } from '#api/gen/discovery-v1.ts';
import type { ServiceRef } from './api-services.ts';

export interface ServiceState {
  readonly service: Service | undefined;
  readonly endpoints: Endpoints | undefined;
  readonly slices: readonly EndpointSlice[];
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Reason why a service is unreachable, as a reason of the Available condition. */
export interface Unreachable {
  readonly reason: 'ServiceNotFound' | 'ServicePortError' | 'EndpointsNotFound' | 'MissingEndpoints';
  readonly message: string;
}

export type Resolution =
  | { readonly kind: 'reachable'; readonly addresses: readonly Address[] }
  | ({ readonly kind: 'unreachable' } & Unreachable);

const unreachable = (reason: Unreachable['reason'], message: string): Resolution => ({
  kind: 'unreachable',
  reason,
  message,
});

/** A port without a number means all ports, so that there is no port to connect to. */
function sliceAddresses(slices: readonly EndpointSlice[], portName: string): readonly Address[] {
  return slices.flatMap(({ ports = [], endpoints }) => {
    const port = ports.find(({ name = '' }) => name === portName)?.port;
    if (port === undefined) return [];
    return endpoints
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses }) => addresses.map((host) => ({ host, port })));
  });
}

function endpointsAddresses({ subsets = [] }: Endpoints, portName: string): readonly Address[] {
  return subsets.flatMap(({ addresses = [], ports = [] }) => {
    const port = ports.find(({ name = '' }) => name === portName)?.port;
    return port === undefined ? [] : addresses.map(({ ip }) => ({ host: ip, port }));
  });
}

/** `direct`: to the endpoints themselves, which needs no proxy for service addresses on this machine.
 *  Deviation: that is the default, see decision 0022. */
export function resolveService(ref: ServiceRef, state: ServiceState, direct: boolean): Resolution {
  const { service, endpoints, slices } = state;
  const { name, namespace, port } = ref;
  const where = `service/${name} in "${namespace}"`;
  if (service === undefined) return unreachable('ServiceNotFound', `${where} is not present`);
  const { spec } = service;
  if (spec?.type === 'ExternalName') {
    return { kind: 'reachable', addresses: [{ host: spec.externalName ?? '', port }] };
  }
  const servicePort = spec?.ports?.find((each) => each.port === port);
  if (servicePort === undefined) {
    return unreachable('ServicePortError', `${where} is not listening on port ${port}`);
  }
  if (endpoints === undefined && slices.length === 0) {
    return unreachable('EndpointsNotFound', `cannot find endpoints for ${where}`);
  }
  const portName = servicePort.name ?? '';
  const fromSlices = sliceAddresses(slices, portName);
  const ready =
    fromSlices.length > 0 || endpoints === undefined ? fromSlices : endpointsAddresses(endpoints, portName);
  if (ready.length === 0) {
    const message = `endpoints for ${where} have no addresses with port name "${portName}"`;
    return unreachable('MissingEndpoints', message);
  }
  const { clusterIP = '' } = spec ?? {};
  if (direct || clusterIP === '' || clusterIP === 'None') return { kind: 'reachable', addresses: ready };
  return { kind: 'reachable', addresses: [{ host: clusterIP, port }] };
}
