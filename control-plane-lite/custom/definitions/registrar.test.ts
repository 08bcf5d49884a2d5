import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { settle } from '../../cache/cache.fixture.ts';
import { createCache } from '../../cache/cache.ts';
import type { Cache } from '../../cache/contract.ts';
import { toStored } from '../../cache/state/stored-form.ts';
import { builtinResources } from '../../resources/builtin.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { groupKinds } from '../../resources/groups/table.ts';
import { createResourceRegistry, type ResourceRegistry } from '../../resources/registry.ts';
import { createMemoryStore, type MemoryStore } from '../../store/memory-store.fixture.ts';
import { type DefinitionFollower, followDefinitions } from './registrar.ts';
import { createSchemaShelf, LARGE_BYTES, type SchemaShelf } from './schema-cache.ts';

const vocabulary = VOCABULARIES.plat;
const GROUP = `apiextensions.${vocabulary.apiGroupDomain}`;
const kinds = groupKinds({ vocabulary });
const builtIn = builtinResources({ vocabulary, gates: new Set(), kinds }).filter(
  ({ info }) => info.group === GROUP || info.plural === 'storageclasses',
);
const [storageClasses] = builtIn.filter(({ info }) => info.plural === 'storageclasses');

interface Given {
  readonly generation?: number;
  readonly established?: boolean;
  readonly terminating?: boolean;
  readonly versions?: readonly object[];
  readonly group?: string;
  readonly plural?: string;
}

const version = (name: string, more: object = {}): object => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { openAPIV3Schema: { type: 'object' } },
  ...more,
});

function definition(given: Given = {}): ApiObject {
  const { generation = 1, established = true, terminating = false, versions = [version('v1')] } = given;
  const { group = 'shop.example', plural = 'cakes' } = given;
  const names = { plural, kind: 'Cake', singular: 'cake', listKind: 'CakeList' };
  const condition = (type: string, holds: boolean): object => ({ type, status: holds ? 'True' : 'False' });
  return {
    apiVersion: `${GROUP}/v1`,
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, uid: `uid-${plural}`, generation },
    spec: { group, scope: 'Namespaced', names, versions },
    status: {
      acceptedNames: names,
      storedVersions: ['v1'],
      conditions: [condition('Established', established), condition('Terminating', terminating)],
    },
  };
}

describe('followDefinitions', () => {
  let store: MemoryStore;
  let cache: Cache;
  let registry: ResourceRegistry;
  let definitions: Resource;
  let following: DefinitionFollower;
  let shelf: SchemaShelf;
  /** Pause in the preparation of large schemas. */
  let held: Promise<void> | undefined;
  let stop: AbortController;

  beforeEach(async () => {
    held = undefined;
    store = createMemoryStore();
    cache = createCache(
      { store, clock: createFakeClock(), log: silentLogger, random: () => 0.5 },
      { flushMs: 0 },
    );
    registry = createResourceRegistry(builtIn);
    const found = registry.find(GROUP, 'v1', 'customresourcedefinitions');
    if (found === undefined) throw new Error('no definitions');
    definitions = found;
    stop = new AbortController();
    cache.resource(definitions.storage);
    await cache.start(stop.signal);
    const addressOf = (): never => {
      throw new Error('no services here');
    };
    shelf = createSchemaShelf({ vocabulary, createTurns: () => () => held });
    const deps = { registry, cache, vocabulary, log: silentLogger, addressOf, shelf };
    following = followDefinitions(deps, definitions);
  });
  afterEach(async () => {
    following.close();
    stop.abort();
    await settle();
  });

  async function put(object: ApiObject): Promise<void> {
    const key = definitions.storage.prefix + (object.metadata.name ?? '');
    const found = await store.get(key);
    await store.put(key, toStored(object), found?.revision ?? 'absent');
    await settle();
  }
  async function remove(object: ApiObject): Promise<void> {
    const key = definitions.storage.prefix + (object.metadata.name ?? '');
    await store.delete(key, (await store.get(key))?.revision ?? 0);
    await settle();
  }
  const served = (name = 'v1', plural = 'cakes'): Resource | undefined =>
    registry.find('shop.example', name, plural);

  test('serves established definitions only', async () => {
    await put(definition({ established: false }));
    expect(served()).toBeUndefined();
    await put(definition());
    expect(served()?.info).toMatchObject({ kind: 'Cake', listKind: 'CakeList', namespaced: true });
    expect(registry.findKind('shop.example/v1', 'Cake')).toBe(served());
  });

  test('one change of a definition is one change of the registry, and retires the earlier resources', async () => {
    await put(definition());
    const first = served();
    const { generation } = registry;
    await put(definition({ generation: 2, versions: [version('v1'), version('v2')] }));
    expect(registry.generation).toBe(generation + 1);
    expect(first?.retired?.aborted).toBe(true);
    expect(served()?.retired?.aborted).toBe(false);
    expect(served('v2')?.stored).toBe(served());
    expect(served()?.stored).toBeUndefined();
  });

  test('leaves resources unchanged by a change of labels or conditions', async () => {
    await put(definition());
    const first = served();
    const { generation } = registry;
    const again = definition();
    await put({ ...again, metadata: { ...again.metadata, labels: { a: 'b' } } });
    expect(served()).toBe(first);
    expect(registry.generation).toBe(generation);
  });

  test('the stored version is behind a served one even if it is not served itself', async () => {
    await put(definition({ versions: [version('v1', { served: false }), version('v2')] }));
    expect(served('v1')).toBeUndefined();
    expect(served('v2')).toMatchObject({ storage: { apiVersion: 'shop.example/v1' } });
    expect(served('v2')?.stored).toBeUndefined();
  });

  test('nothing is created while the definition is being deleted; then all is gone', async () => {
    await put(definition());
    await store.put(
      '/registry/shop.example/cakes/n/a',
      toStored({ ...definition(), kind: 'Cake' }),
      'absent',
    );
    await settle();
    const storage = served()?.storage;
    if (storage === undefined) throw new Error('not served');
    expect(cache.resource(storage).size).toBe(1);
    const ending = definition({ generation: 2, terminating: true });
    await put(ending);
    expect(served()?.info.verbs).not.toContain('create');
    expect(served()?.info.verbs).toContain('delete');
    await remove(ending);
    expect(served()).toBeUndefined();
    await put(definition());
    expect(cache.resource(storage).size).toBe(1);
  });

  test('never replaces built-in resources', async () => {
    if (storageClasses === undefined) throw new Error('no storage classes');
    const { group, plural } = storageClasses.info;
    await put(definition({ group, plural }));
    expect(registry.find(group, 'v1', plural)).toBe(storageClasses);
    await remove(definition({ group, plural }));
    expect(registry.find(group, 'v1', plural)).toBe(storageClasses);
  });

  const large = (generation: number, more: object = {}): ApiObject => {
    const root = { type: 'object', description: 'long '.repeat(LARGE_BYTES / 5), properties: { a: more } };
    return definition({ generation, versions: [version('v1', { schema: { openAPIV3Schema: root } })] });
  };

  test('a large definition is served when its schema is compiled, in its newest state', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    await put(definition());
    const first = served();
    await put(large(2, { type: 'string' }));
    await put(large(3, { type: 'integer' }));
    expect(served()).toBe(first);
    expect(first?.retired?.aborted).toBe(false);
    resolve();
    await settle();
    expect(first?.retired?.aborted).toBe(true);
    const errors = served()?.strategy.validate?.({ ...definition(), a: 'x' }, {
      vocabulary,
    } as never);
    expect(errors?.map(({ field }) => field)).toEqual(['a']);
  });

  test('a large definition that is deleted before it is served never is', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    await put(large(1));
    await remove(large(1));
    resolve();
    await settle();
    expect(served()).toBeUndefined();
    expect(registry.all()).toHaveLength(builtIn.length);
  });

  test('a definition that cannot be served does not delay others', async () => {
    const columns = [{ name: 'A', type: 'string', jsonPath: '.a[' }];
    await put(
      definition({ plural: 'odd', versions: [version('v1', { additionalPrinterColumns: columns })] }),
    );
    await put(definition());
    expect(served('v1', 'odd')).toBeUndefined();
    expect(served()).toBeDefined();
  });
});
