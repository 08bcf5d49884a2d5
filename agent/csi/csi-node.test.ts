import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Drivers } from '#volumes/contract/csi.ts';
import { runCsiNode } from './csi-node.ts';
import { createTestServer, refused } from './server.fixture.ts';

const vocabulary = VOCABULARIES.plat;
type Listed = ReturnType<Drivers['list']>[number];

const driver = (name: string, more: Partial<Listed> = {}): Listed => ({
  name,
  endpoint: '/x',
  nodeID: 'id',
  topology: {},
  maxVolumes: undefined,
  capabilities: new Set(),
  // No driver is called in this test.
  get node(): never {
    throw new Error('drivers must not be called here');
  },
  ...more,
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Node and CSINode have the same name, so the test uses two servers. */
async function setUp() {
  const clock = createFakeClock();
  const [nodes, csiNodes] = [createTestServer(), createTestServer()];
  nodes.put('n1', { metadata: { name: 'n1', uid: 'u1' } });
  const of = ({ resource }: { readonly resource: string }) =>
    (resource === 'nodes' ? nodes : csiNodes).client;
  let listed: readonly Listed[] = [];
  const listeners = new Set<() => void>();
  const whole = Promise.withResolvers<void>();
  const stop = new AbortController();
  const running = runCsiNode(
    {
      client: {
        get: (address, ...rest) => of(address).get(address, ...rest),
        create: (address, ...rest) => of(address).create(address, ...rest),
        update: (address, ...rest) => of(address).update(address, ...rest),
        patch: (address, ...rest) => of(address).patch(address, ...rest),
      },
      whenNode: async () => ({ metadata: { name: 'n1', uid: 'u1' } }),
      drivers: {
        list: () => listed,
        onChange(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      whenSettled: whole.promise,
      clock,
      log: silentLogger,
    },
    { vocabulary, gates: new Set() },
    stop.signal,
  );
  await turn();
  return {
    clock,
    nodes,
    csiNodes,
    listeners,
    settle: whole.resolve,
    async become(...drivers: readonly Listed[]) {
      listed = drivers;
      for (const listener of listeners) listener();
      await turn();
    },
    drivers: () =>
      (csiNodes.get('n1')?.['spec'] as { drivers?: { name: string; nodeID: string }[] } | undefined)
        ?.drivers ?? [],
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the test is over'));
      await running;
    },
  };
}

describe('runCsiNode', () => {
  test('creates the object before any driver, and writes nothing twice', async () => {
    await using world = await setUp();
    expect(world.drivers()).toEqual([]);
    await world.become();
    expect(world.csiNodes.calls).toEqual(['get n1', 'create n1', 'get n1']);
    expect(world.nodes.calls).toEqual([]);
  });

  test('writes the node labels first, then the drivers', async () => {
    await using world = await setUp();
    await world.become(driver('a', { topology: { rack: 'r1' }, maxVolumes: 2 }));
    expect(world.nodes.get('n1')).toMatchObject({ metadata: { labels: { rack: 'r1' } } });
    expect(world.drivers()).toEqual([
      { name: 'a', nodeID: 'id', topologyKeys: ['rack'], allocatable: { count: 2 } },
    ]);
  });

  test('removes and adds the entry of a changed driver', async () => {
    await using world = await setUp();
    await world.become(driver('a'));
    const before = world.csiNodes.calls.length;
    await world.become(driver('a', { nodeID: 'other' }));
    expect(world.drivers()).toEqual([{ name: 'a', nodeID: 'other' }]);
    expect(world.csiNodes.calls.slice(before)).toEqual(['get n1', 'update n1', 'update n1']);
  });

  test('drivers of an earlier run stay until all plugins were queried once', async () => {
    await using world = await setUp();
    await world.become(driver('a'));
    await world.become();
    expect(world.drivers()).toHaveLength(1);
    world.settle();
    await turn();
    expect(world.drivers()).toEqual([]);
  });

  test('omits a driver whose topology conflicts with the node', async () => {
    await using world = await setUp();
    await world.become(driver('a', { topology: { rack: '1' } }), driver('b', { topology: { rack: '2' } }));
    expect(world.drivers().map(({ name }) => name)).toEqual(['a']);
  });

  test('retries when the server rejects a write, and unsubscribes at the end', async () => {
    const world = await setUp();
    world.csiNodes.refuse('update', refused(500));
    await world.become(driver('a'));
    expect(world.drivers()).toEqual([]);
    await world.clock.advance(1000);
    expect(world.drivers()).toHaveLength(1);
    await world[Symbol.asyncDispose]();
    expect(world.listeners.size).toBe(0);
  });
});
