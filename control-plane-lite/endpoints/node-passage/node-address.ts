/** Where the agent of a node listens, by what the node says of itself. Pure. */
import { StatusError } from '#api/meta/status-error.ts';
import type { Node, NodeAddress } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';

export interface NodeAddressOptions {
  /** Types of addresses, the best first. */
  readonly preferredTypes: readonly string[];
  /** Where a node tells no port. */
  readonly defaultPort: number;
  /** Member of a node's endpoints that has the port. */
  readonly endpointMember: Vocabulary['nodeAgentEndpointMember'];
}

export interface AgentAddress {
  /** An address, or a name that is to be looked up. */
  readonly host: string;
  readonly port: number;
}

/** The port that the node tells, else the default. */
function portOf(node: ApiObject, { endpointMember, defaultPort }: NodeAddressOptions): number {
  const endpoints: unknown = typed<Node>(node).status?.daemonEndpoints;
  if (typeof endpoints !== 'object' || endpoints === null) return defaultPort;
  const endpoint = new Map<string, unknown>(Object.entries(endpoints)).get(endpointMember);
  if (typeof endpoint !== 'object' || endpoint === null || !('Port' in endpoint)) return defaultPort;
  const { Port: port } = endpoint;
  return typeof port === 'number' && port > 0 && port <= 65_535 ? port : defaultPort;
}

const describe = (addresses: readonly NodeAddress[]): string =>
  addresses.map(({ type, address }) => `${type}: ${address}`).join(', ');

/** @throws StatusError ServiceUnavailable if none of its addresses is of a type that is asked for */
export function agentAddress(node: ApiObject, options: NodeAddressOptions): AgentAddress {
  const addresses = typed<Node>(node).status?.addresses ?? [];
  for (const wanted of options.preferredTypes) {
    const found = addresses.find(({ type, address }) => type === wanted && address !== '');
    if (found !== undefined) return { host: found.address, port: portOf(node, options) };
  }
  const known = addresses.length === 0 ? 'it has none' : `it has ${describe(addresses)}`;
  throw new StatusError(
    'ServiceUnavailable',
    `node ${JSON.stringify(node.metadata.name ?? '')} has no address of the types that are used; ${known}`,
  );
}
