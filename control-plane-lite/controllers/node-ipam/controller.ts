/** Node IPAM controller: allocates a range of pod addresses of each family to every node. The ranges of existing nodes
 *  are facts; only a node without any gets one. Source: upstream's range allocator, release 1.24. */
import type { Node } from '#api/gen/core-v1.ts';
import { formatIpRange, type IpRange, parseIpRange } from '#api/meta/ip.ts';
import type { CachedObject, ResourceCache } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import type { NodeRanges } from '../skeleton/settings.ts';
import { refOf } from '../workloads-kit/controller-base.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { type Blocks, createBlocks } from './blocks.ts';

/** Holder of the service ranges: no name of a node. */
const SERVICES = 'services/';

interface Parts {
  readonly context: ControllerContext<'nodes'>;
  readonly nodes: ResourceCache;
  /** One per range of the cluster. */
  readonly pools: readonly Blocks[];
  /** Names of nodes for which nothing was left. */
  readonly waiting: Set<string>;
  /** Ranges that are allocated and not persisted yet, by node. */
  readonly pending: Map<string, readonly IpRange[]>;
}

const rangesOf = (cached: CachedObject): readonly string[] =>
  typed<Node>(cached.object()).spec?.podCIDRs ?? [];

function release({ pools, pending }: Pick<Parts, 'pools' | 'pending'>, name: string): void {
  pending.delete(name);
  for (const pool of pools) pool.release(name);
}

/** Occupies the ranges that a node has. */
function occupy(
  { pools, context }: Pick<Parts, 'pools' | 'context'>,
  name: string,
  ranges: readonly string[],
): void {
  for (const [index, pool] of pools.entries()) {
    pool.release(name);
    const range = parseIpRange(ranges[index] ?? '');
    if (range !== undefined && !pool.occupy(name, range))
      context.log.warn({ node: name, range: ranges[index] }, 'Node has a range outside the cluster ranges');
  }
}

/** Returns a range of each pool; `undefined` if one has none left. */
function allocate(parts: Parts, name: string): readonly IpRange[] | undefined {
  const known = parts.pending.get(name);
  if (known !== undefined) return known;
  const found = parts.pools.map((pool) => pool.allocate(name));
  const ranges = found.filter((range) => range !== undefined);
  if (ranges.length < found.length) {
    release(parts, name);
    return undefined;
  }
  parts.pending.set(name, ranges);
  return ranges;
}

async function reconcile(parts: Parts, name: string): Promise<number | undefined> {
  const { context, nodes, waiting } = parts;
  const cached = nodes.get(name);
  if (cached === undefined || rangesOf(cached).length > 0) return undefined;
  const { client, queue, log } = context;
  const report = (reason: string): void => {
    const message = `Node ${name} status is now: ${reason}`;
    client.events.record(cached.object(), 'Normal', reason, message);
  };
  const ranges = allocate(parts, name);
  if (ranges === undefined) {
    if (!waiting.has(name)) log.warn({ node: name }, 'No range of pod addresses is left for node');
    waiting.add(name);
    report('CIDRNotAvailable');
    return undefined;
  }
  waiting.delete(name);
  const podCIDRs = ranges.map(formatIpRange);
  queue.expect(name);
  try {
    await changeObject(
      client,
      refOf(context.resourceOf('nodes'), cached),
      cached.object().metadata.uid ?? '',
      (draft) => {
        const { spec } = typed<Node>(draft);
        // Another program was faster.
        if ((spec?.podCIDRs ?? []).length > 0) return;
        draft['spec'] = { ...spec, podCIDR: podCIDRs[0], podCIDRs };
      },
    );
  } catch (thrown) {
    report('CIDRAssignmentFailed');
    throw thrown;
  }
  return undefined;
}

function createPools({ cluster, excluded }: NodeRanges): readonly Blocks[] {
  return cluster.map((each) => {
    const pool = createBlocks(each);
    for (const [index, range] of excluded.entries()) pool.occupy(`${SERVICES}${index}`, range);
    return pool;
  });
}

export const nodeIpamController: Controller = defineController({
  name: 'nodeipam',
  identity: 'cidrAllocator',
  watches: ['nodes'],
  writes: { nodes: { update: ['spec.podCIDR', 'spec.podCIDRs'] } },
  recordsEvents: true,
  start(context) {
    const { queue, settings } = context;
    if (settings.nodeRanges === undefined) return undefined;
    const nodes = context.cacheOf('nodes');
    const parts: Parts = {
      context,
      nodes,
      pools: createPools(settings.nodeRanges),
      waiting: new Set(),
      pending: new Map(),
    };
    const following = nodes.follow(({ type, current }) => {
      const { name } = current;
      if (type === 'DELETED') {
        release(parts, name);
        parts.waiting.delete(name);
        for (const each of parts.waiting) queue.add(each);
        return;
      }
      const ranges = rangesOf(current);
      if (ranges.length === 0) {
        if (!parts.waiting.has(name)) queue.add(name);
        return;
      }
      parts.pending.delete(name);
      occupy(parts, name, ranges);
    });
    return { reconcile: (name) => reconcile(parts, name), follows: [following] };
  },
});
