/** Connections to aggregated servers: verification of their identity, and this server's client
 *  certificate. */
import { Agent } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { Identity } from '#api/pki/certificate.ts';
import type { RemoteApi } from './api-services.ts';
import type { Address, ServiceState } from './resolve-service.ts';
import { resolveService, type Unreachable } from './resolve-service.ts';

export type RemoteTls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

/** Human-readable name. */
export const serverOf = ({ name }: RemoteApi): string => `API server of ${name}`;

/** The name in a server's certificate is that of its service, wherever it runs. */
export function remoteTls(
  { authority, insecure, service }: RemoteApi,
  { certificate, key }: Identity,
): RemoteTls {
  return {
    ...(authority === undefined ? {} : { ca: authority }),
    cert: certificate,
    key,
    servername: `${service.name}.${service.namespace}.svc`,
    rejectUnauthorized: !insecure,
  };
}

/** Connections that wait for a next request are closed before servers do it: a request on a connection that is just
 *  being closed would fail. */
const IDLE_MS = 4000;

export const createRemoteAgent = (): Agent =>
  new Agent({ keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 8, scheduling: 'lifo' });

export type Way =
  | { readonly kind: 'address'; readonly address: Address }
  | ({ readonly kind: 'unreachable' } & Unreachable);

/** Finds the way to a server anew each time, taking turns among its endpoints. */
export function createWayFinder(
  stateOf: (ref: RemoteApi['service']) => ServiceState,
  direct: boolean,
): (api: RemoteApi) => Way {
  let turn = 0;
  return ({ service }) => {
    const resolution = resolveService(service, stateOf(service), direct);
    if (resolution.kind === 'unreachable') return resolution;
    turn = (turn + 1) % 1_000_000;
    const address = resolution.addresses[turn % resolution.addresses.length];
    if (address === undefined) throw new Error(`service ${service.name} has no endpoint address`);
    return { kind: 'address', address };
  };
}
