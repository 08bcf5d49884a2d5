/** Nodes and their heartbeats. Follows nodes and leases in the cache. */
import { isDeepStrictEqual } from 'node:util';
import type { Lease } from '#api/gen/coordination-v1.ts';
import type { Node } from '#api/gen/core-v1.ts';
import type { CachedObject, ResourceCache, WatchHandle } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import { type LastSign, observeSign, readyCondition, signOf } from './health.ts';
import type { ZoneCount } from './zones.ts';

export interface FleetNode {
  readonly node: Node;
  readonly cached: CachedObject;
  readonly zone: string;
  readonly ready: boolean;
}

export interface Fleet extends WatchHandle {
  get(name: string): FleetNode | undefined;
  /** The last heartbeat. */
  lastSign(name: string): LastSign | undefined;
  /** By zone. */
  zones(): ReadonlyMap<string, ZoneCount>;
  /** Names of the nodes that are not ready. */
  unready(): readonly string[];
}

export interface FleetDeps {
  readonly nodes: Pick<ResourceCache, 'follow'>;
  readonly leases: Pick<ResourceCache, 'follow'>;
  readonly leaseNamespace: string;
  /** Prefix of the zone labels: `topology.` and the domain. */
  readonly topology: string;
  /** Monotonic, in ms. */
  readonly nowMs: () => number;
}

export interface FleetListener {
  /** A node was added, or changed by more than a heartbeat. */
  onNode(name: string): void;
  /** Its taints have changed. */
  onTaints(name: string): void;
  /** A node was added or removed, or its readiness changed. */
  onReadiness(zones: ReadonlyMap<string, ZoneCount>): void;
}

export function followFleet(deps: FleetDeps, listener: FleetListener): Fleet {
  const nodes = new Map<string, FleetNode>();
  const signs = new Map<string, LastSign>();
  const leaseTimes = new Map<string, string>();
  const zones = new Map<string, ZoneCount>();

  function count({ zone, ready }: FleetNode, by: 1 | -1): void {
    const { nodes: all, unready } = zones.get(zone) ?? { nodes: 0, unready: 0 };
    if (all + by === 0) zones.delete(zone);
    else zones.set(zone, { nodes: all + by, unready: unready + (ready ? 0 : by) });
  }

  const read = (cached: CachedObject): FleetNode => {
    const node = typed<Node>(cached.object());
    const place = ['region', 'zone'].map((part) => cached.labels[`${deps.topology}/${part}`] ?? '');
    return { node, cached, zone: place.join('/'), ready: readyCondition(node)?.status === 'True' };
  };

  function listen(name: string): void {
    const found = nodes.get(name);
    if (found === undefined) return;
    signs.set(name, observeSign(signs.get(name), signOf(found.node, leaseTimes.get(name)), deps.nowMs()));
  }

  const following = [
    deps.leases.follow(({ type, current }) => {
      if (current.namespace !== deps.leaseNamespace) return;
      const { renewTime } = typed<Lease>(current.object()).spec ?? {};
      if (type === 'DELETED' || renewTime === undefined) leaseTimes.delete(current.name);
      else leaseTimes.set(current.name, renewTime);
      listen(current.name);
    }),
    deps.nodes.follow(({ type, current }) => {
      const before = nodes.get(current.name);
      if (before !== undefined) count(before, -1);
      if (type === 'DELETED') {
        nodes.delete(current.name);
        signs.delete(current.name);
        listener.onReadiness(zones);
        return;
      }
      const now = read(current);
      nodes.set(current.name, now);
      count(now, 1);
      listen(current.name);
      listener.onNode(current.name);
      if (before?.ready !== now.ready || before.zone !== now.zone) listener.onReadiness(zones);
      if (!isDeepStrictEqual(before?.node.spec?.taints, now.node.spec?.taints))
        listener.onTaints(current.name);
    }),
  ];

  return {
    get: (name) => nodes.get(name),
    lastSign: (name) => signs.get(name),
    zones: () => zones,
    unready: () => [...nodes.values()].filter(({ ready }) => !ready).map(({ cached }) => cached.name),
    close: () => following.forEach((each) => each.close()),
  };
}
