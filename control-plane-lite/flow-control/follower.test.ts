import { expect, test } from 'vitest';
import type { FlowSchema, PriorityLevelConfiguration } from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { CacheChange, CachedObject, ResourceCache } from '../cache/contract.ts';
import type { ApiObject } from '../resources/contract.ts';
import { autoUpdateKey, flowDefaults } from './defaults.ts';
import { createFlowFollower, type FlowWriter } from './follower.ts';
import type { FlowObjects } from './plan.ts';

type FlowObject = FlowSchema | PriorityLevelConfiguration;

/** Objects of one kind, followed by one listener. */
function createObjects() {
  let notify: ((change: CacheChange) => void) | undefined;
  const names = new Set<string>();
  const change = (type: CacheChange['type'], object: FlowObject): void => {
    const name = object.metadata?.name ?? '';
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- followers read no more than these members
    const current = { name, object: () => object as unknown as ApiObject } as CachedObject;
    notify?.({ type, current });
  };
  const cache: Pick<ResourceCache, 'follow'> = {
    follow(listener) {
      notify = listener;
      return { close: () => void (notify = undefined) };
    },
  };
  return {
    cache,
    names,
    put(object: FlowObject) {
      names.add(object.metadata?.name ?? '');
      change('ADDED', object);
    },
    remove(object: FlowObject) {
      names.delete(object.metadata?.name ?? '');
      change('DELETED', object);
    },
  };
}

async function setUp() {
  const clock = createFakeClock();
  const words = VOCABULARIES.plat;
  const defaults = flowDefaults(words);
  const [schemas, levels] = [createObjects(), createObjects()];
  const configured: FlowObjects[] = [];
  const conditions: string[] = [];
  const writer: FlowWriter = {
    async apply(kind, change) {
      if (change.kind === 'create') (kind === 'FlowSchema' ? schemas : levels).put(change.object);
    },
    async setCondition(name, { status }) {
      conditions.push(`${name} ${status}`);
    },
  };
  const deferred: (() => void)[] = [];
  const follower = createFlowFollower({
    clock,
    log: silentLogger,
    control: { configure: (objects) => void configured.push(objects) },
    schemas: schemas.cache,
    levels: levels.cache,
    defaults,
    autoUpdateKey: autoUpdateKey(words),
    writer,
    defer: (task) => void deferred.push(task),
  });
  const stop = new AbortController();
  const running = follower.run(stop.signal);
  await clock.advance(0);
  return {
    clock,
    schemas,
    levels,
    defaults,
    configured,
    conditions,
    /** Runs deferred tasks; returns their number. */
    settle: () => deferred.splice(0).map((task) => task()).length,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('over'));
      await running;
      follower.close();
    },
  };
}

test('creates the default objects and configures once for all changes of a turn', async () => {
  await using fixture = await setUp();
  expect([fixture.schemas.names.size, fixture.levels.names.size]).toEqual([13, 8]);
  expect([fixture.settle(), fixture.configured.at(-1)?.schemas.length]).toEqual([1, 13]);
  expect(fixture.conditions).toContain('global-default False');
});

test('a change of a status configures nothing', async () => {
  await using fixture = await setUp();
  fixture.settle();
  const [schema] = fixture.defaults.schemas;
  if (schema === undefined) throw new Error('no schema');
  fixture.schemas.put({ ...schema, status: { conditions: [] } });
  expect(fixture.settle()).toBe(0);
  fixture.schemas.put({ ...schema, metadata: { ...schema.metadata, generation: 2 } });
  expect(fixture.settle()).toBe(1);
});

test('a deleted default object is restored within a minute', async () => {
  await using fixture = await setUp();
  const level = fixture.defaults.levels.find(({ metadata }) => metadata?.name === 'system');
  if (level === undefined) throw new Error('no level');
  fixture.levels.remove(level);
  expect(fixture.settle()).toBe(1);
  await fixture.clock.advance(1000);
  expect(fixture.levels.names.has('system')).toBe(false);
  await fixture.clock.advance(60_000);
  expect(fixture.levels.names.has('system')).toBe(true);
});

test('a status is written at most six times a minute', async () => {
  await using fixture = await setUp();
  const schema: FlowSchema = {
    metadata: { name: 'x' },
    spec: { priorityLevelConfiguration: { name: 'none' } },
  };
  for (let turn = 0; turn < 20; turn += 1) {
    fixture.schemas.put(schema);
    await fixture.clock.advance(10);
  }
  const writes = () => fixture.conditions.filter((text) => text === 'x True').length;
  expect(writes()).toBe(6);
  for (let turn = 0; turn < 10; turn += 1) await fixture.clock.advance(10_000);
  expect(writes()).toBeGreaterThan(6);
});
