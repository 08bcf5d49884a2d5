/** Connections to node agents: their addresses, and mutual authentication between this server and an agent. */
import { isIP } from 'node:net';
import type { ConnectionOptions, PeerCertificate } from 'node:tls';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { notFound } from '#api/meta/status-errors.ts';
import type { Identity } from '#api/pki/certificate.ts';
import type { ApiObject } from '../resources/contract.ts';
import { NODE_USER_PREFIX, NODES_GROUP } from '../resources/groups/certificates/signers.ts';
import { agentAddress, type NodeAddressOptions } from './node-address.ts';
import { type Destination, isLoopback, isReachable } from './reachable.ts';

export type TargetTls = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'checkServerIdentity'
>;

/** Target of a connection. */
export interface Target {
  /** A resolved IP address, never a name, so that the checked address is the one connected to. */
  readonly host: string;
  readonly port: number;
  /** Absent: plain HTTP. */
  readonly tls?: TargetTls;
}

/** Resolves the addresses of a name. @throws Error if there are none */
export type Lookup = (name: string) => Promise<readonly string[]>;

/** Returns an address of the host that may be connected to.
 *  @throws StatusError BadRequest if there is none; ServiceUnavailable if the name is unknown */
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

/** `own`: certificates of these CAs, issued to the node. `file`: certificates of other CAs, verified against
 *  the address, as upstream does. `none`: any certificate. */
export type AgentTrust =
  | { readonly kind: 'own'; readonly authorities: readonly string[] }
  | { readonly kind: 'file'; readonly authority: string }
  | { readonly kind: 'none' };

/** Returns the reason why a certificate is not that of the node's agent. */
function nodeError(nodeName: string, { subject }: Pick<PeerCertificate, 'subject'>): Error | undefined {
  const { CN: name, O: group } = subject;
  if (String(name) === `${NODE_USER_PREFIX}${nodeName}` && String(group) === NODES_GROUP) return undefined;
  return new Error(`its certificate is issued to ${JSON.stringify(String(name))}`);
}

function probeMessage(nodeName: string, { host, port }: Target, trust: AgentTrust, error: Error): string {
  // Node's advice about its own flags does not apply here.
  const reason = error.message.replace(/; if the root CA is installed locally.*/, '');
  const message = `the agent of node ${nodeName} at ${host} port ${port} can't be reached: ${reason}`;
  if (trust.kind !== 'own' || !isCertificateError(error)) return message;
  return (
    `${message}; it needs a serving certificate of this cluster (serverTLSBootstrap: true in its configuration), ` +
    'or the server --nodeagent-certificate-authority or --nodeagent-skip-tls-verify'
  );
}

const isCertificateError = (error: Error): boolean =>
  ('code' in error && /CERT|UNABLE_TO|SIGNATURE/.test(String(error.code))) ||
  error.message.startsWith('its certificate');

export interface AgentsDeps {
  readonly node: (name: string) => ApiObject | undefined;
  readonly lookup: Lookup;
  /** Client certificate of this server, read for each connection. */
  readonly identity: () => Identity;
  /** How the serving certificates of agents are verified. */
  readonly trust: () => AgentTrust;
  /** Connects without this server's certificate. Rejects unless the peer presents the expected certificate. */
  readonly probe: (target: Target) => Promise<void>;
  readonly clock: Pick<Clock, 'now'>;
  /** Port that this server listens on. */
  readonly ownPort: () => number;
  /** Reports whether an address belongs to an interface of this machine. */
  readonly isOwnAddress: (address: string) => boolean;
}

export interface Agents {
  /** Returns the agent of a node, after verifying its certificate.
   *  @throws StatusError NotFound, BadRequest, ServiceUnavailable */
  readonly find: (nodeName: string) => Promise<Target>;
  /** The agent of a node, whose certificate the client does not want to be checked.
   *
   *  Upstream's server then shows its own certificate to any peer (its transport drops the authority and keeps the key
   *  pair). Elsewhere on the network this does the same: the address is that of the node, and a peer learns nothing by a
   *  handshake that it could use with others. On loopback the node chooses which of this machine's programs is asked, and
   *  some of them let clients of this authority in. So there an agent that proves itself gets the certificate all the
   *  same, and any other peer is asked without it: logs come from agents that let anybody in, and others respond 401.
   *  @throws StatusError NotFound, BadRequest, ServiceUnavailable */
  readonly findUnchecked: (nodeName: string) => Promise<Target>;
  /** Returns the target of a node's agent, which has not been verified yet.
   *  @throws StatusError NotFound, BadRequest, ServiceUnavailable */
  readonly locate: (nodeName: string) => Promise<Target>;
  /** Resolves once the agent at the target has been verified, now or within `PROBED_MS`.
   *  @throws StatusError ServiceUnavailable */
  readonly prove: (nodeName: string, target: Target) => Promise<void>;
  /** Returns the address that a node registered, with the port of its agent.
   *  @throws StatusError NotFound, ServiceUnavailable */
  readonly addressOf: (nodeName: string) => { readonly host: string; readonly port: number };
}

/** Time for which the result of a probe is reused, in ms. Each connection verifies the certificate in any
 *  case. */
const PROBED_MS = 10_000;
const MOST_PROBED = 10_000;

/** Returns a TLS server name per node, so that a pooled connection to one node is never used for another one
 *  that registered the same address. */
const serverNameOf = (nodeName: string): string => (isIP(nodeName) === 0 ? nodeName : `${nodeName}.node`);

export function createAgents(deps: AgentsDeps, options: NodeAddressOptions): Agents {
  /** Time of the last probe, by node and address. */
  const probed = new Map<string, number>();

  function addressOf(nodeName: string): { readonly host: string; readonly port: number } {
    const node = deps.node(nodeName);
    if (node === undefined) throw notFound({ group: '', name: 'nodes' }, nodeName);
    return agentAddress(node, options);
  }

  async function place(nodeName: string): Promise<{ host: string; port: number; name: string }> {
    const { host: name, port } = addressOf(nodeName);
    const host = await reachableAddress(name, 'agent', deps.lookup);
    // No client may reach this server itself with the server's own certificate.
    const isHere = isLoopback(host) || deps.isOwnAddress(host);
    if (port === deps.ownPort() && isHere) throw new StatusError('BadRequest', 'address not allowed');
    return { host, port, name };
  }

  function checks(nodeName: string, name: string, host: string): TargetTls {
    // An empty list means no server name: the certificate is verified against the address.
    const servername = name === host ? '' : name;
    const trust = deps.trust();
    switch (trust.kind) {
      case 'none':
        return { servername, rejectUnauthorized: false };
      case 'file':
        return { servername, ca: trust.authority };
      case 'own':
        return {
          servername: serverNameOf(nodeName),
          ca: [...trust.authorities],
          checkServerIdentity: (_, certificate) => nodeError(nodeName, certificate),
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
      const message = probeMessage(nodeName, target, deps.trust(), asError(thrown));
      throw new StatusError('ServiceUnavailable', message, { cause: thrown });
    }
    if (probed.size >= MOST_PROBED) probed.clear();
    probed.set(key, now);
  }

  function ownCertificate(): { readonly cert: string; readonly key: string } {
    const { certificate: cert, key } = deps.identity();
    return { cert, key };
  }

  async function locate(nodeName: string): Promise<Target> {
    const { host, port, name } = await place(nodeName);
    return { host, port, tls: { ...checks(nodeName, name, host), ...ownCertificate() } };
  }

  async function prove(nodeName: string, target: Target): Promise<void> {
    if (deps.trust().kind === 'none') return;
    const { cert: _, key: __, ...tls } = target.tls ?? {};
    await probe(nodeName, { ...target, tls });
  }

  async function find(nodeName: string): Promise<Target> {
    const target = await locate(nodeName);
    await prove(nodeName, target);
    return target;
  }

  return {
    addressOf,
    find,
    locate,
    prove,
    async findUnchecked(nodeName) {
      const { host, port, name } = await place(nodeName);
      const tls = { servername: name === host ? '' : name, rejectUnauthorized: false };
      if (!isLoopback(host) || deps.trust().kind === 'none')
        return { host, port, tls: { ...tls, ...ownCertificate() } };
      return await find(nodeName).catch(() => ({ host, port, tls }));
    },
  };
}
