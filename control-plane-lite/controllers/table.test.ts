/** The table of controllers: its inputs and outputs are those that the controllers use. */
import { describe, expect, test } from 'vitest';
import type { Cache } from '../cache/contract.ts';
import { SHARED_FIELDS } from './shared-fields.ts';
import type { Controller } from './skeleton/declaration.ts';
import { findKind } from './skeleton/kinds.ts';
import { createMemoryPlane } from './skeleton/memory-plane.fixture.ts';
import { fieldsWithSeveralWriters } from './skeleton/outputs.ts';
import { runController } from './skeleton/run.ts';
import { CONTROLLERS, PERMANENT_CONTROLLERS } from './table.ts';

const ALL = [...CONTROLLERS, ...PERMANENT_CONTROLLERS];

test('names and identities of controllers are unique', () => {
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length);
  expect(new Set(ALL.map(({ identity }) => identity)).size).toBe(ALL.length);
});

/** Starts a controller and returns the storages that it read from the cache. */
async function storagesRead(controller: Controller): Promise<ReadonlySet<string>> {
  const { host, stop } = await createMemoryPlane();
  const read = new Set<string>();
  const cache: Cache = {
    ...host.cache,
    resource(storage, selectable) {
      read.add(storage.prefix);
      return host.cache.resource(storage, selectable);
    },
  };
  const pods = (): ReturnType<typeof host.pods> => {
    read.add(findKind(host.registry, 'pods', host.vocabulary)?.storage.prefix ?? '');
    return host.pods();
  };
  const running = runController(controller, { ...host, cache, pods }, stop.signal);
  stop.abort();
  await running;
  return read;
}

describe('a started controller subscribes to the kinds that it declares, and to no others:', () => {
  test.each(ALL.map((controller) => [controller.name, controller] as const))('%s', async (_, controller) => {
    const { host, stop } = await createMemoryPlane();
    stop.abort();
    const declared = controller.watches.map(
      (kind) => findKind(host.registry, kind, host.vocabulary)?.storage.prefix,
    );
    const read = await storagesRead(controller);
    expect([...read]).toEqual(expect.arrayContaining(declared));
    expect(controller.everyKind !== undefined || read.size === declared.length).toBe(true);
  });
});

test('each field has one writing controller, apart from those that are listed with a reason', () => {
  const listed = Object.entries(SHARED_FIELDS).map(([field, { writers }]) => [field, writers] as const);
  expect(Object.fromEntries(fieldsWithSeveralWriters(ALL))).toEqual(Object.fromEntries(listed));
});
