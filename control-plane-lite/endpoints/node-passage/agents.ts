/** The way to the agents of nodes: where each listens, and how this server and the agent know each other. */
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { asError } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { notFound } from '#api/meta/status-errors.ts';
import type { Identity } from '#api/pki/certificate.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { agentAddress, type NodeAddressOptions } from './node-address.ts';
import { type Destination, isLoopback, isReachable } from './reachable.ts';

export type TargetTls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

/** Where a connection goes to. */
export interface Target {
  /** An address: names were looked up, so that what was checked is what is connected to. */
  readonly host: string;
  readonly port: number;
  /** Absent: no TLS. */
  readonly tls?: TargetTls;
}

/** Addresses of a name. @throws Error if there are none */
export type Lookup = (name: string) => Promise<readonly string[]>;

/** An address of the host that may be connected to.
 *  @throws StatusError BadRequest if there is none; ServiceUnavailable if the name is not known */
export async function reachableAddress(
  host: string,
  destination: Destination,
  lookup: Lookup,
): Promise<string> {
  const addresses = isIP(host) === 0 ? await lookUp(host, lookup) : [host];
  const found = addresses.find((address) => isReachable(address, destination));
  if (found !== undefined) return found;
  throw new StatusError('BadRequest', 'address not allowed');
}

async function lookUp(host: string, lookup: Lookup): Promise<readonly string[]> {
  try {
    return await lookup(host);
  } catch (thrown) {
    const message = `the address of ${host} is not known: ${asError(thrown).message}`;
    throw new StatusError('ServiceUnavailable', message, { cause: thrown });
  }
}

export interface AgentsDeps {
  readonly node: (name: string) => ApiObject | undefined;
  readonly lookup: Lookup;
  /** By which this server proves itself. */
  readonly identity: Identity;
  /** PEM of who signs the certificates of agents; absent: they are not checked. */
  readonly authority: string | undefined;
  /** Where this server listens itself. */
  readonly ownPort: () => number;
}

export interface Agents {
  /** The agent of a node.
   *  @throws StatusError NotFound, BadRequest, ServiceUnavailable */
  readonly find: (nodeName: string) => Promise<Target>;
  /** Address that a node registered, with the port of its agent.
   *  @throws StatusError NotFound, ServiceUnavailable */
  readonly addressOf: (nodeName: string) => { readonly host: string; readonly port: number };
}

export function createAgents(deps: AgentsDeps, options: NodeAddressOptions): Agents {
  const { identity, authority } = deps;

  function addressOf(nodeName: string): { readonly host: string; readonly port: number } {
    const node = deps.node(nodeName);
    if (node === undefined) throw notFound({ group: '', name: 'nodes' }, nodeName);
    return agentAddress(node, options);
  }

  return {
    addressOf,
    async find(nodeName) {
      const { host, port } = addressOf(nodeName);
      const address = await reachableAddress(host, 'agent', deps.lookup);
      // Nobody gets to this server itself with its own certificate in hand.
      if (port === deps.ownPort() && isLoopback(address)) {
        throw new StatusError('BadRequest', 'address not allowed');
      }
      const tls = {
        cert: identity.certificate,
        key: identity.key,
        // Empty: none, and the certificate is checked for the address.
        servername: address === host ? '' : host,
        ...(authority === undefined ? { rejectUnauthorized: false } : { ca: authority }),
      };
      return { host: address, port, tls };
    },
  };
}
