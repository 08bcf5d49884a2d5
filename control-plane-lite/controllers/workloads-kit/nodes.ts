/** The nodes as controllers of pods see them: what decides on which of them a pod may be. Followed in the cache; the
 *  many changes that matter to nobody here, such as heartbeats, are told to nobody. */
import { isDeepStrictEqual } from 'node:util';
import type { Node, Taint } from '#api/schema/gen/core-v1.ts';
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
