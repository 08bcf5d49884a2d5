/** Identifies nodes among users. Pure. Source: node identity, document 2 §2.7. */
import type { UserInfo } from '../resources/contract.ts';

export const NODES_GROUP = 'system:nodes';
export const NODE_USER_PREFIX = 'system:node:';

/** Name of the node that the user is; empty: one of the nodes, of no name; `undefined`: no node. */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  if (!name.startsWith(NODE_USER_PREFIX) || !groups.includes(NODES_GROUP)) return undefined;
  return name.slice(NODE_USER_PREFIX.length);
}
