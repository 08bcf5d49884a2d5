/** Scheduler on an in-memory store: writes, rollbacks and omissions. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Event, Node, Pod } from '#api/gen/core-v1.ts';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Steps } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createCache } from '../cache/cache.ts';
import { builtinResources } from '../resources/builtin.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { coreKinds } from '../resources/core/table.ts';
import { groupKinds } from '../resources/groups/table.ts';
import { createResourceRegistry } from '../resources/registry.ts';
import { typed } from '../resources/view.ts';
import { createMemoryStore } from '../store/memory-store.fixture.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import { createAdmissionChain, createVerbs } from '../verbs/verbs.ts';
import { nodeObject, type PodOptions, podObject, seeded } from './scheduler.fixture.ts';
import { runScheduler } from './scheduler.ts';

const vocabulary = VOCABULARIES.plat;

interface World extends AsyncDisposable {
  readonly clock: FakeClock;
  /** Every update by the scheduler, such as `binding p1`. */
  readonly updates: readonly string[];
  addNode(node: Node): Promise<void>;
  addPod(name: string, options?: PodOptions): Promise<void>;
  removePod(name: string): Promise<void>;
  pod(name: string): Pod;
  events(): readonly Event[];
  /** Runs before the scheduler's next updates of this kind; may throw. */
  before(subresource: string, work: () => Promise<void>): void;
  /** Waits until the condition holds, without advancing the clock. */
  until(holds: () => boolean): Promise<void>;
}

async function begin(): Promise<World> {
  const store = createMemoryStore();
  const clock = createFakeClock();
  const allocation = { repair: () => Promise.reject(new Error('no services here')) };
  const kinds = {
    ...coreKinds({ vocabulary, allocation: allocation as never, eventTtlSeconds: 3600 }),
    ...groupKinds({ vocabulary }),
  };
  const registry = createResourceRegistry(builtinResources({ vocabulary, gates: new Set(), kinds }));
  const resource = (plural: string): Resource => {
    const found = registry.find('', 'v1', plural);
    if (found === undefined) throw new Error(`no ${plural}`);
    return found;
  };
  const cache = createCache({ store, clock, log: silentLogger, random: () => 0.5 }, { flushMs: 0 });
  for (const plural of ['pods', 'nodes', 'events']) {
    const { storage, strategy } = resource(plural);
    cache.resource(storage, strategy.selectableFields ?? {});
  }
  const stop = new AbortController();
  await cache.start(stop.signal);
  const admission = createAdmissionChain([]);
  function* track(): Steps<void> {}
  const verbs = createVerbs({ store, cache, admission, clock, vocabulary, gates: new Set(), track });
  const updates: string[] = [];
  const hooks = new Map<string, () => Promise<void>>();
  const watched: Verbs = {
    ...verbs,
    async update(write) {
      const { ref, subresource = '' } = write;
      updates.push(`${subresource} ${ref.name}`);
      await hooks.get(subresource)?.();
      return verbs.update(write);
    },
  };
  const running = runScheduler(
    {
      registry,
      cache,
      verbs: watched,
      clock,
      vocabulary,
      gates: new Set(),
      log: silentLogger,
      random: seeded(1),
      pause: () => turn(),
    },
    { instance: 'test' },
    stop.signal,
  );
  const caller = controllerCaller('test', stop.signal);
  const create = async (plural: string, namespace: string, object: object): Promise<void> => {
    const of = resource(plural);
    const { object: decoded } = of.schema.decode(object);
    const name = decoded.metadata.name ?? '';
    await verbs.create({
      ref: { resource: of, namespace, name },
      object: decoded,
      dryRun: false,
      fieldManager: 'test',
      caller,
    });
  };
  return {
    clock,
    updates,
    addNode: (node) => create('nodes', '', { apiVersion: 'v1', kind: 'Node', ...node }),
    async addPod(name, options) {
      const { metadata, ...rest } = podObject(name, options);
      const { uid: _, ...meta } = metadata ?? {};
      await create('pods', 'default', { apiVersion: 'v1', kind: 'Pod', metadata: meta, ...rest });
    },
    async removePod(name) {
      const ref = { resource: resource('pods'), namespace: 'default', name };
      await verbs.delete({ ref, dryRun: false, gracePeriodSeconds: 0, caller });
    },
    pod: (name) =>
      typed<Pod>(cache.resource(resource('pods').storage).get(`default/${name}`)?.object() as ApiObject),
    events() {
      const page = cache.resource(resource('events').storage).list({ labels: [], fields: [] });
      return 'items' in page ? page.items.map((entry) => typed<Event>(entry.object())) : [];
    },
    before: (subresource, work) => void hooks.set(subresource, work),
    async until(holds) {
      for (let turns = 0; turns < 5000; turns += 1) {
        if (holds()) return;
        await turn();
      }
      throw new Error('it never came to be');
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

const nodeNameOf = (world: World, name: string): string | undefined => world.pod(name).spec?.nodeName;
const conditionOf = (world: World, name: string): string | undefined =>
  world.pod(name).status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message;

describe('runScheduler', () => {
  test('binds pods, and reports it', async () => {
    await using world = await begin();
    await world.addNode(nodeObject('n1'));
    await world.addPod('p1');
    await world.until(() => nodeNameOf(world, 'p1') === 'n1' && world.events().length === 1);
    expect(world.events()[0]).toMatchObject({
      reason: 'Scheduled',
      message: 'Successfully assigned default/p1 to n1',
      involvedObject: { kind: 'Pod', name: 'p1' },
    });
    expect(world.updates).toEqual(['binding p1']);
  });

  test('reverts a failed binding, reports it, and retries after a while', async () => {
    await using world = await begin();
    await world.addNode(nodeObject('n1', { allocatable: { pods: '1' } }));
    world.before('binding', () => Promise.reject(new Error('the store is away')));
    await world.addPod('p1');
    await world.until(() => conditionOf(world, 'p1') === 'the store is away');
    expect(nodeNameOf(world, 'p1')).toBeUndefined();
    world.before('binding', () => Promise.resolve());
    // Capacity that was assumed for a moment is free again, for the next pod.
    await world.addPod('p2');
    await world.until(() => nodeNameOf(world, 'p2') === 'n1');
    await world.removePod('p2');
    await world.clock.advance(1000);
    await world.until(() => nodeNameOf(world, 'p1') === 'n1');
  });

  test('forgets a pod that goes while it is bound', async () => {
    await using world = await begin();
    await world.addNode(nodeObject('n1', { allocatable: { pods: '1' } }));
    const gone = Promise.withResolvers<void>();
    world.before('binding', async () => {
      world.before('binding', () => Promise.resolve());
      await world.removePod('p1');
      gone.resolve();
    });
    await world.addPod('p1');
    await gone.promise;
    await world.addPod('p2');
    await world.until(() => nodeNameOf(world, 'p2') === 'n1');
    expect(world.updates).toEqual(['binding p1', 'binding p2']);
  });

  test('a pod that another scheduler was faster with is left to it', async () => {
    await using world = await begin();
    await world.addNode(nodeObject('n1'));
    world.before('binding', () => Promise.reject(new StatusError('Conflict', 'it has a node already')));
    await world.addPod('p1');
    await world.until(() => world.updates.length === 1);
    for (let turns = 0; turns < 50; turns += 1) await turn();
    expect(conditionOf(world, 'p1')).toBeUndefined();
  });

  test('a crowd without nodes costs nothing at first, and each pod one write after', async () => {
    await using world = await begin();
    const names = Array.from({ length: 60 }, (_, index) => `p${index}`);
    for (const name of names) await world.addPod(name);
    for (let turns = 0; turns < 50; turns += 1) await turn();
    await world.clock.advance(2000);
    expect(world.updates).toEqual([]);
    await world.clock.advance(2000);
    await world.until(() =>
      names.every((name) => conditionOf(world, name) === 'no nodes available to schedule pods'),
    );
    expect(world.updates.length).toBe(60);
    await world.clock.advance(700_000);
    for (let turns = 0; turns < 50; turns += 1) await turn();
    expect(world.updates.length).toBe(60);
    await world.addNode(nodeObject('n1', { allocatable: { cpu: '100' } }));
    await world.clock.advance(10_000);
    await world.until(() => names.every((name) => nodeNameOf(world, name) === 'n1'));
  });

  test('pods that were on a node before it came are counted', async () => {
    await using world = await begin();
    await world.addPod('there', { cpu: '4', nodeName: 'n1' });
    await world.addNode(nodeObject('n1'));
    await world.addPod('p1', { cpu: '1' });
    await world.until(() => conditionOf(world, 'p1') !== undefined);
    expect(conditionOf(world, 'p1')).toMatch(/^0\/1 nodes are available: 1 Insufficient cpu\. /);
    await world.addNode(nodeObject('n2'));
    await world.clock.advance(1000);
    await world.until(() => nodeNameOf(world, 'p1') === 'n2');
  });
});
