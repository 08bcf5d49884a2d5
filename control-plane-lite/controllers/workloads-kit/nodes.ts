/** Nodes with the fields that decide which pods may run on them. Follows the cache; irrelevant changes, such
 *  as heartbeats, are not reported. */
import { isDeepStrictEqual } from 'node:util';
import type { Node, Taint } from '#api/gen/core-v1.ts';
import type { ResourceCache, WatchHandle } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';

export interface NodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

export interface Nodes extends WatchHandle {
  has(name: string): boolean;
  all(): readonly NodeFacts[];
}

export function createNodes(cache: Pick<ResourceCache, 'follow'>, onChange: () => void): Nodes {
  const nodes = new Map<string, NodeFacts>();
  const following = cache.follow(({ type, current }) => {
    const before = nodes.get(current.name);
    if (type === 'DELETED') {
      nodes.delete(current.name);
      onChange();
      return;
    }
    const { taints = [] } = typed<Node>(current.object()).spec ?? {};
    const facts = { name: current.name, labels: current.labels, taints };
    nodes.set(current.name, facts);
    if (!isDeepStrictEqual(before, facts)) onChange();
  });
  return {
    has: (name) => nodes.has(name),
    all: () => [...nodes.values()],
    close: () => following.close(),
  };
}
