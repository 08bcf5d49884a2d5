import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ApiObject } from '../../resources/contract.ts';
import { changedFields, createUpdateCheck } from './changed-fields.fixture.ts';
import { type Controller, type ControllerContext, defineController } from './declaration.ts';
import type { KindName } from './kinds.ts';
import { createMemoryPlane, type MemoryPlane } from './memory-plane.fixture.ts';
import { runController } from './run.ts';
import { UndeclaredError } from './scope.ts';

const settle = async (): Promise<void> => {
  for (let turns = 0; turns < 40; turns += 1) await turn();
};

/** A controller of Leases whose work is the test's. */
function controllerWith(
  work: (context: ControllerContext, key: string) => Promise<void>,
  changes: Partial<Controller> = {},
): Controller {
  return defineController<KindName, KindName>({
    name: 'example',
    identity: 'example-controller',
    watches: ['leases'],
    writes: {} as never,
    start(context) {
      const leases = context.cacheOf('leases');
      return {
        async reconcile(key) {
          await work(context, key);
          return undefined;
        },
        follows: [leases.follow(({ current }) => context.queue.add(current.key))],
      };
    },
    ...(changes as object),
  });
}

async function createLease({ host, stop }: MemoryPlane): Promise<void> {
  const { registry, vocabulary, verbs } = host;
  const group = `coordination.${vocabulary.apiGroupDomain}`;
  const resource = registry.find(group, 'v1', 'leases');
  if (resource === undefined) throw new Error('leases are not served');
  const lease: ApiObject = {
    apiVersion: `${group}/v1`,
    kind: 'Lease',
    metadata: { name: 'a', namespace: 'default' },
    spec: {},
  };
  const user = { name: 'test', groups: [], extra: {} };
  const caller = { user, signal: stop.signal, warn: () => undefined, annotate: () => undefined };
  const ref = { resource, namespace: 'default', name: 'a' };
  await verbs.create({ ref, object: lease, dryRun: false, fieldManager: 'test', caller });
}

test('a controller starts once what it watches is decrypted', async () => {
  const { host, stop } = await createMemoryPlane();
  const { promise, resolve } = Promise.withResolvers<void>();
  const asked: unknown[] = [];
  const cache: MemoryPlane['host']['cache'] = {
    ...host.cache,
    readable(prefixes) {
      asked.push(prefixes);
      return promise;
    },
  };
  let started = false;
  const controller = controllerWith(() => Promise.resolve(), {
    start: () => {
      started = true;
      return undefined;
    },
  });
  const running = runController(controller, { ...host, cache }, stop.signal);
  await settle();
  expect([started, asked]).toEqual([false, [new Set([expect.stringContaining('leases')])]]);
  resolve();
  await running;
  expect(started).toBe(true);
  stop.abort();
});

/** Runs the work for one Lease and returns the error of its first run. */
async function firstError(
  work: (context: ControllerContext, key: string) => Promise<void>,
  changes: Partial<Controller> = {},
): Promise<unknown> {
  const plane = await createMemoryPlane();
  const failed = Promise.withResolvers<unknown>();
  const controller = controllerWith(async (context, key) => {
    await work(context, key).then(() => failed.resolve(undefined), failed.resolve);
  }, changes);
  const running = runController(controller, plane.host, plane.stop.signal);
  await createLease(plane);
  const error = await failed.promise;
  plane.stop.abort();
  await running;
  return error;
}

const leaseRef = (context: ControllerContext) => ({
  resource: context.resourceOf('leases'),
  namespace: 'default',
  name: 'a',
});
const remove = async (context: ControllerContext): Promise<void> => {
  await context.client.verbs.delete({ ref: leaseRef(context), dryRun: false, caller: context.client.caller });
};
const rename = async (context: ControllerContext, subresource?: string): Promise<void> => {
  const { verbs, caller, fieldManager } = context.client;
  await verbs.update({
    ref: leaseRef(context),
    change: (live) => {
      live['spec'] = { holderIdentity: 'b' };
      return live;
    },
    dryRun: false,
    fieldManager,
    ...(subresource === undefined ? {} : { subresource }),
    caller,
  });
};

test.each<[string, (context: ControllerContext) => Promise<void>, RegExp]>([
  ['a kind that it does not watch', async (context) => void context.cacheOf('pods'), /pods/],
  ['the shared pods', async (context) => void context.pods(), /pods/],
  ['all kinds', async (context) => void context.allKinds(), /every kind/],
  [
    'another kind by the registry',
    async (context) => void context.registry.find('', 'v1', 'pods'),
    /uses pods/,
  ],
  ['an undeclared deletion', remove, /deletes leases/],
  ['an undeclared update', (context) => rename(context), /updates leases/],
])('a controller cannot use %s', async (_, work, message) => {
  const error = await firstError(work);
  expect(error).toBeInstanceOf(UndeclaredError);
  expect(String(error)).toMatch(message);
});

test('a declared update works, an undeclared subresource does not', async () => {
  const declared = { writes: { leases: { update: ['spec.holderIdentity'] } } };
  expect(await firstError((context) => rename(context), declared)).toBeUndefined();
  const error = await firstError((context) => rename(context, 'status'), declared);
  expect(error).toBeInstanceOf(UndeclaredError);
  expect(String(error)).toMatch('leases/status');
});

test('updates of undeclared fields are found', async () => {
  const plane = await createMemoryPlane();
  const check = createUpdateCheck();
  const declared = { writes: { leases: { update: ['metadata.labels'] } } };
  const controller = controllerWith((context) => rename(context), declared);
  const host = { ...plane.host, observeUpdate: check.observe };
  const running = runController(controller, host, plane.stop.signal);
  await createLease(plane);
  await settle();
  plane.stop.abort();
  await running;
  expect(() => check.assertDeclared()).toThrow('example: leases spec.holderIdentity');
});

test('changed fields are the deepest that differ; lists count as one', () => {
  const before = { a: { b: 1, c: [1] }, d: { e: 1 } };
  expect(changedFields(before, { a: { b: 2, c: [1, 2] }, d: { e: 1 }, f: { g: 1 } })).toEqual([
    'a.b',
    'a.c',
    'f.g',
  ]);
});

test('a failed reconciliation is retried with backoff, and shutdown closes the subscriptions', async () => {
  const plane = await createMemoryPlane();
  let runs = 0;
  const closed: string[] = [];
  const controller = controllerWith(async () => {
    runs += 1;
    if (runs < 3) throw new Error('not yet');
  });
  const running = runController(
    {
      ...controller,
      start(context) {
        const reconciler = controller.start(context);
        if (reconciler === undefined) return undefined;
        return {
          ...reconciler,
          follows: [...reconciler.follows, { close: () => void closed.push('closed') }],
        };
      },
    },
    plane.host,
    plane.stop.signal,
  );
  await createLease(plane);
  await settle();
  expect(runs).toBe(1);
  await plane.host.clock.advance(1000);
  await settle();
  expect(runs).toBe(3);
  expect(closed).toEqual([]);
  plane.stop.abort();
  await running;
  expect(closed).toEqual(['closed']);
});

test('a controller does not start while a kind that it needs is not served', async () => {
  const { host, stop } = await createMemoryPlane();
  let started = false;
  const controller: Controller = {
    ...controllerWith(async () => undefined),
    start() {
      started = true;
      return undefined;
    },
  };
  const registry = { ...host.registry, find: () => undefined };
  await runController(controller, { ...host, registry }, stop.signal);
  expect(started).toBe(false);
  stop.abort();
});
