/** The controller on a server in memory. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Node } from '#api/gen/core-v1.ts';
import { type IpRange, parseIpRange } from '#api/meta/ip.ts';
import { eventually } from '../../../testing/wait.ts';
import type { Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { Caller } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { createUpdateCheck } from '../skeleton/changed-fields.fixture.ts';
import { createMemoryPlane, type MemoryPlane } from '../skeleton/memory-plane.fixture.ts';
import { runController } from '../skeleton/run.ts';
import type { NodeRanges } from '../skeleton/settings.ts';
import { nodeIpamController } from './controller.ts';

let plane: MemoryPlane;
let check: ReturnType<typeof createUpdateCheck>;
let controller: AbortController;
let running: Promise<void> | undefined;

beforeEach(async () => {
  plane = await createMemoryPlane();
  check = createUpdateCheck();
  controller = new AbortController();
  running = undefined;
});
afterEach(async () => {
  controller.abort();
  let isDone = false;
  void running?.finally(() => (isDone = true));
  await eventually(async () => {
    await plane.host.clock.advance(1000);
    return running === undefined || isDone;
  });
  plane.stop.abort();
  check.assertDeclared();
});

const rangeOf = (text: string): IpRange => parseIpRange(text) ?? ({} as IpRange);
const ranges = (
  excluded: readonly string[],
  ...cluster: readonly (readonly [string, number])[]
): NodeRanges => ({
  cluster: cluster.map(([text, blockBits]) => ({ range: rangeOf(text), blockBits })),
  excluded: excluded.map(rangeOf),
});
function start(nodeRanges: NodeRanges | undefined): void {
  const settings = { ...plane.host.settings, nodeRanges };
  running = runController(
    nodeIpamController,
    { ...plane.host, settings, observeUpdate: check.observe },
    controller.signal,
  );
}

const nodes = (): Resource => {
  const found = plane.host.registry.find('', 'v1', 'nodes');
  if (found === undefined) throw new Error('nodes are not served');
  return found;
};
const caller = (): Caller => controllerCaller('test', plane.stop.signal);
async function createNode(name: string, ...podCIDRs: readonly string[]): Promise<void> {
  const spec = podCIDRs.length === 0 ? {} : { podCIDR: podCIDRs[0], podCIDRs };
  const { object } = nodes().schema.decode({ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec });
  const ref = { resource: nodes(), namespace: '', name: '' };
  await plane.host.verbs.create({ ref, object, dryRun: false, fieldManager: 'test', caller: caller() });
}
const removeNode = async (name: string): Promise<void> => {
  await plane.host.verbs.delete({
    ref: { resource: nodes(), namespace: '', name },
    dryRun: false,
    caller: caller(),
  });
};
function specOf(name: string): Node['spec'] {
  const object = plane.host.cache.resource(nodes().storage).get(name)?.object();
  return object && typed<Node>(object).spec;
}
const allocated = (name: string): Promise<readonly string[]> => eventually(() => specOf(name)?.podCIDRs);
async function events(): Promise<readonly string[]> {
  const resource = plane.host.registry.find('', 'v1', 'events');
  if (resource === undefined) throw new Error('events are not served');
  const { items } = await plane.host.cache.resource(resource.storage).list({ labels: [], fields: [] });
  return items.map((item) => typed<{ message: string }>(item.object()).message);
}

test('each node gets a range of each family, those of existing nodes stay', async () => {
  await createNode('old', '10.0.0.0/24', 'fd00::/64');
  start(ranges([], ['10.0.0.0/16', 24], ['fd00::/56', 64]));
  await createNode('a');
  expect(await allocated('a')).toEqual(['10.0.1.0/24', 'fd00:0:0:1::/64']);
  expect(specOf('a')?.podCIDR).toBe('10.0.1.0/24');
  await createNode('b');
  expect(await allocated('b')).toEqual(['10.0.2.0/24', 'fd00:0:0:2::/64']);
  expect(specOf('old')?.podCIDRs).toEqual(['10.0.0.0/24', 'fd00::/64']);
});

test('the ranges of services are left out', async () => {
  start(ranges(['10.0.0.0/23'], ['10.0.0.0/16', 24]));
  await createNode('a');
  expect(await allocated('a')).toEqual(['10.0.2.0/24']);
});

test('a node without a free range is reported, and gets that of a node that is deleted', async () => {
  start(ranges([], ['10.0.0.0/24', 24]));
  await createNode('a');
  await allocated('a');
  await createNode('b');
  await eventually(async () => (await events()).includes('Node b status is now: CIDRNotAvailable'));
  expect(specOf('b')?.podCIDRs).toBeUndefined();
  await removeNode('a');
  expect(await allocated('b')).toEqual(['10.0.0.0/24']);
});

test('nothing is allocated partially', async () => {
  start(ranges([], ['10.0.0.0/16', 24], ['fd00::/64', 64]));
  await createNode('a');
  await allocated('a');
  await createNode('b');
  await eventually(async () => (await events()).includes('Node b status is now: CIDRNotAvailable'));
  await removeNode('a');
  expect(await allocated('b')).toEqual([expect.stringMatching(/^10\.0\./) as string, 'fd00::/64']);
});

test('without the setting it does not run', async () => {
  start(undefined);
  await running;
  running = undefined;
  expect(specOf('a')).toBeUndefined();
});
