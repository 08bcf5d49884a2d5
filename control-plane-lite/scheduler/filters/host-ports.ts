/** Filter: host ports. Each address and port of a node belongs to one pod; the address 0.0.0.0 means all. */
import type { HostPort, NodeInfo } from '../fleet/model.ts';
import { check, type Filter, resolvable } from './filter.ts';

const EVERY_ADDRESS = '0.0.0.0';
const REFUSAL = resolvable("node(s) didn't have free ports for the requested pod ports");

function isTaken({ ports }: NodeInfo, { address, port }: HostPort): boolean {
  if (ports.size === 0) return false;
  if (address !== EVERY_ADDRESS) {
    return ports.has(`${address} ${port}`) || ports.has(`${EVERY_ADDRESS} ${port}`);
  }
  const ending = ` ${port}`;
  return [...ports.keys()].some((taken) => taken.endsWith(ending));
}

export const hostPorts: Filter = {
  name: 'NodePorts',
  wokenBy: ['podGone', 'nodeAdded'],
  looksAround: false,
  prepare: ({ shape: { hostPorts: wanted } }) =>
    wanted.length === 0
      ? undefined
      : check((node) => (wanted.some((port) => isTaken(node, port)) ? REFUSAL : undefined)),
};
