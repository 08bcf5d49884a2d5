/** The way to the agents of nodes: where each listens, and how this server and the agent know each other. */
import { isIP } from 'node:net';
import type { ConnectionOptions, PeerCertificate } from 'node:tls';
import { asError, type Clock } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { notFound } from '#api/meta/status-errors.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { NODE_USER_PREFIX, NODES_GROUP } from '../../controllers/certificates/signers.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { agentAddress, type NodeAddressOptions } from './node-address.ts';
import { type Destination, isLoopback, isReachable } from './reachable.ts';

export type TargetTls = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'checkServerIdentity'
>;

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

/** `own`: certificates of these authorities in the name of the node. `file`: of other authorities, for the address, as
 *  upstream has it. `none`: any. */
export type AgentTrust =
  | { readonly kind: 'own'; readonly authorities: readonly string[] }
  | { readonly kind: 'file'; readonly authority: string }
  | { readonly kind: 'none' };

/** Why a certificate is not that of the node's agent. */
function nodeFault(nodeName: string, { subject }: Pick<PeerCertificate, 'subject'>): Error | undefined {
  const { CN: name, O: group } = subject;
  if (String(name) === `${NODE_USER_PREFIX}${nodeName}` && String(group) === NODES_GROUP) return undefined;
  return new Error(`its certificate is in the name of ${JSON.stringify(String(name))}`);
}

function probeMessage(nodeName: string, { host, port }: Target, trust: AgentTrust, error: Error): string {
  // What Node advises about its own flags helps nobody here.
  const reason = error.message.replace(/; if the root CA is installed locally.*/, '');
  const message = `the agent of node ${nodeName} at ${host} port ${port} can't be reached: ${reason}`;
  if (trust.kind !== 'own' || !isCertificateFault(error)) return message;
  return (
    `${message}; it needs a serving certificate of this cluster (serverTLSBootstrap: true in its configuration), ` +
    'or the server --nodeagent-certificate-authority or --nodeagent-skip-tls-verify'
  );
}

const isCertificateFault = (error: Error): boolean =>
  ('code' in error && /CERT|UNABLE_TO|SIGNATURE/.test(String(error.code))) ||
  error.message.startsWith('its certificate');

export interface AgentsDeps {
  readonly node: (name: string) => ApiObject | undefined;
  readonly lookup: Lookup;
  /** By which this server proves itself. */
  readonly identity: Identity;
  /** How the certificates of agents are checked. */
  readonly trust: AgentTrust;
  /** Connects without this server's certificate. Rejects unless the peer shows the certificate that is expected. */
  readonly probe: (target: Target) => Promise<void>;
  readonly clock: Pick<Clock, 'now'>;
  /** Where this server listens itself. */
  readonly ownPort: () => number;
  /** Whether an address is one of this machine's interfaces. */
  readonly isOwnAddress: (address: string) => boolean;
}

export interface Agents {
  /** The agent of a node, which has shown that it is that.
   *  @throws StatusError NotFound, BadRequest, ServiceUnavailable */
  readonly find: (nodeName: string) => Promise<Target>;
  /** The agent of a node, whose certificate the client does not want to be checked. On loopback it is given no
   *  certificate of this server: any program of this machine may listen there.
   *  @throws StatusError NotFound, BadRequest, ServiceUnavailable */
  readonly findUnchecked: (nodeName: string) => Promise<Target>;
  /** Address that a node registered, with the port of its agent.
   *  @throws StatusError NotFound, ServiceUnavailable */
  readonly addressOf: (nodeName: string) => { readonly host: string; readonly port: number };
}

/** What an agent that was checked a moment ago need not show again, in ms. Each connection checks it in any case. */
const PROBED_MS = 10_000;
const MOST_PROBED = 10_000;

/** Servers names that TLS can carry: one for each node, so that no connection to a node is used for another one that
 *  registered the same address. */
const serverNameOf = (nodeName: string): string => (isIP(nodeName) === 0 ? nodeName : `${nodeName}.node`);

export function createAgents(deps: AgentsDeps, options: NodeAddressOptions): Agents {
  const { identity, trust } = deps;
  /** When an agent was last probed, by node and address. */
  const probed = new Map<string, number>();

  function addressOf(nodeName: string): { readonly host: string; readonly port: number } {
    const node = deps.node(nodeName);
    if (node === undefined) throw notFound({ group: '', name: 'nodes' }, nodeName);
    return agentAddress(node, options);
  }

  async function place(nodeName: string): Promise<{ host: string; port: number; name: string }> {
    const { host: name, port } = addressOf(nodeName);
    const host = await reachableAddress(name, 'agent', deps.lookup);
    // Nobody gets to this server itself with its own certificate in hand.
    const isHere = isLoopback(host) || deps.isOwnAddress(host);
    if (port === deps.ownPort() && isHere) throw new StatusError('BadRequest', 'address not allowed');
    return { host, port, name };
  }

  function checks(nodeName: string, name: string, host: string): TargetTls {
    // Empty: none, and the certificate is checked for the address.
    const servername = name === host ? '' : name;
    switch (trust.kind) {
      case 'none':
        return { servername, rejectUnauthorized: false };
      case 'file':
        return { servername, ca: trust.authority };
      case 'own':
        return {
          servername: serverNameOf(nodeName),
          ca: [...trust.authorities],
          checkServerIdentity: (_, certificate) => nodeFault(nodeName, certificate),
        };
      default:
        return trust satisfies never;
    }
  }

  async function probe(nodeName: string, target: Target): Promise<void> {
    const key = `${nodeName} ${target.host} ${target.port}`;
    const now = deps.clock.now();
    if (now - (probed.get(key) ?? Number.NEGATIVE_INFINITY) < PROBED_MS) return;
    try {
      await deps.probe(target);
    } catch (thrown) {
      throw new StatusError('ServiceUnavailable', probeMessage(nodeName, target, trust, asError(thrown)), {
        cause: thrown,
      });
    }
    if (probed.size >= MOST_PROBED) probed.clear();
    probed.set(key, now);
  }

  const { certificate: cert, key } = identity;
  return {
    addressOf,
    async find(nodeName) {
      const { host, port, name } = await place(nodeName);
      const tls = checks(nodeName, name, host);
      if (trust.kind !== 'none') await probe(nodeName, { host, port, tls });
      return { host, port, tls: { ...tls, cert, key } };
    },
    async findUnchecked(nodeName) {
      const { host, port, name } = await place(nodeName);
      const tls = { servername: name === host ? '' : name, rejectUnauthorized: false };
      return { host, port, tls: isLoopback(host) && trust.kind !== 'none' ? tls : { ...tls, cert, key } };
    },
  };
}
