/** Follows the nodes for the shares of their zones. */
import { isDeepStrictEqual } from 'node:util';
import type { Node } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { CachedObject, ResourceCache, WatchHandle } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import { type ZoneShares, zoneShares } from './topology-hints.ts';

export interface Zones extends WatchHandle {
  shares(): ZoneShares | undefined;
}

/** The parts of a node that shares depend on: heartbeats change others. */
function factsOf(entry: CachedObject): unknown {
  const { metadata, status } = typed<Node>(entry.object());
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return [metadata?.labels, status?.allocatable?.['cpu'], ready];
}

/** @param onChange called when the shares may have changed */
export function followZones(
  nodes: Pick<ResourceCache, 'follow'>,
  vocabulary: Vocabulary,
  onChange: () => void,
): Zones {
  const known = new Map<string, { readonly entry: CachedObject; readonly facts: unknown }>();
  let shares: ZoneShares | undefined;
  let isCurrent = false;
  const following = nodes.follow(({ type, current }) => {
    const before = known.get(current.key);
    const facts = type === 'DELETED' ? undefined : factsOf(current);
    if (type === 'DELETED') known.delete(current.key);
    else known.set(current.key, { entry: current, facts });
    if (before !== undefined && isDeepStrictEqual(before.facts, facts)) return;
    isCurrent = false;
    onChange();
  });
  return {
    shares() {
      if (!isCurrent) {
        shares = zoneShares(
          [...known.values()].map(({ entry }) => typed<Node>(entry.object())),
          vocabulary,
        );
        isCurrent = true;
      }
      return shares;
    },
    close: () => following.close(),
  };
}
