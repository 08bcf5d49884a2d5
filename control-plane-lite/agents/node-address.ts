/** Address of a node's agent, from the node's status. Pure. */

import type { Node, NodeAddress } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';

export interface NodeAddressOptions {
  /** Address types, in order of preference. */
  readonly preferredTypes: readonly string[];
  /** Port of nodes that report none. */
  readonly defaultPort: number;
  /** Field of the node's daemon endpoints that contains the port. */
  readonly endpointMember: Vocabulary['nodeAgentEndpointMember'];
}

export interface AgentAddress {
  /** An IP address, or a name that has to be resolved. */
  readonly host: string;
  readonly port: number;
}

/** Returns the port that the node reports, else the default. */
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

/** @throws StatusError ServiceUnavailable if the node has no address of a preferred type */
export function agentAddress(node: ApiObject, options: NodeAddressOptions): AgentAddress {
  const addresses = typed<Node>(node).status?.addresses ?? [];
  for (const wanted of options.preferredTypes) {
    const found = addresses.find(({ type, address }) => type === wanted && address !== '');
    if (found !== undefined) return { host: found.address, port: portOf(node, options) };
  }
  const known = addresses.length === 0 ? 'it has none' : `it has ${describe(addresses)}`;
  throw new StatusError(
    'ServiceUnavailable',
    `node ${JSON.stringify(node.metadata.name ?? '')} has no address of the preferred types; ${known}`,
  );
}
