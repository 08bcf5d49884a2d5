/** The table of controllers: its inputs and outputs are those that the controllers use. */
import { describe, expect, test } from 'vitest';
import type { ClusterRole } from '#api/gen/rbac-authorization-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { bootstrapPolicy } from '../authz/bootstrap.ts';
import type { Cache } from '../cache/contract.ts';
import { typed } from '../resources/view.ts';
import { SHARED_FIELDS } from './shared-fields.ts';
import type { Controller, KindWrites } from './skeleton/declaration.ts';
import { displayKind, findKind, groupOfKind, type KindName } from './skeleton/kinds.ts';
import { createMemoryPlane } from './skeleton/memory-plane.fixture.ts';
import { fieldsWithSeveralWriters } from './skeleton/outputs.ts';
import { runController, writesOf } from './skeleton/run.ts';
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

/** Operations that a role must allow. */
const verbsOf = (writes: KindWrites): readonly string[] => [
  ...(writes.create === true ? ['create'] : []),
  ...(writes.delete === true ? ['delete'] : []),
  ...(writes.update === undefined ? [] : ['update']),
];

/** Operations beyond the role: upstream leaves them to the tool that creates a cluster. */
const BEYOND_ROLES = ['bootstrapsigner create configmaps'];

/** Controllers run as members of system:masters; the roles are for a controller that runs outside the server. */
test.each(['plat', 'kubernetes'] as const)(
  'bootstrap roles of controllers cover their inputs and outputs: %s',
  (name) => {
    const vocabulary = VOCABULARIES[name];
    const policy = bootstrapPolicy(vocabulary);
    const missing = ALL.flatMap((controller) => {
      const roles = policy.filter(
        ({ metadata }) => metadata.name === `system:controller:${controller.identity}`,
      );
      if (roles.length === 0) return [];
      const rules = roles.flatMap((role) => typed<ClusterRole>(role).rules ?? []);
      const allows = (verb: string, kind: KindName): boolean =>
        rules.some(
          ({ verbs, apiGroups = [], resources = [] }) =>
            verbs.includes(verb) &&
            apiGroups.includes(groupOfKind(kind, vocabulary)) &&
            resources.includes(kind),
        );
      const needed = [
        ...controller.watches.flatMap((kind) => ['list', 'watch'].map((verb) => [verb, kind] as const)),
        ...writesOf(controller).flatMap(([kind, writes]) =>
          verbsOf(writes).map((verb) => [verb, kind] as const),
        ),
      ];
      return needed
        .filter(([verb, kind]) => !allows(verb, kind))
        .map(([verb, kind]) => `${controller.name} ${verb} ${displayKind(kind)}`);
    });
    expect(missing).toEqual(BEYOND_ROLES);
  },
);
