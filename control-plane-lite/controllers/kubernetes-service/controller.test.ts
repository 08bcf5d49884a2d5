import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { settle } from '../../cache/cache.fixture.ts';
import { createCache } from '../../cache/cache.ts';
import { builtinResources } from '../../resources/builtin.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { createResourceRegistry, type ResourceRegistry } from '../../resources/registry.ts';
import { StoreError } from '../../store/contract.ts';
import { createMemoryStore } from '../../store/memory-store.fixture.ts';
import { createAdmissionChain, createVerbs } from '../../verbs/verbs.ts';
import { createKubernetesService, type KubernetesService, type ServiceOptions } from './controller.ts';
import { addressesOf } from './objects.ts';

const vocabulary = VOCABULARIES.plat;
const KEY = `default/${vocabulary.apiService}`;

interface Fixture extends AsyncDisposable {
  start(options?: Partial<ServiceOptions>): KubernetesService;
  readonly signal: AbortSignal;
  endpoints(): ApiObject | undefined;
  slice(): ApiObject | undefined;
  /** Of the store. */
  revision(): Promise<number>;
  /** The store fails from then on. */
  mostWrites(count: number): void;
  advance(ms: number): Promise<void>;
  remove(): Promise<void>;
}

async function createFixture(): Promise<Fixture> {
  const clock = createFakeClock();
  const store = createMemoryStore();
  const all = createResourceRegistry(builtinResources({ vocabulary, gates: new Set(), kinds: {} }));
  // Another component allocates the addresses of services.
  const registry: Pick<ResourceRegistry, 'find'> = {
    find: (group, version, plural) => (plural === 'services' ? undefined : all.find(group, version, plural)),
  };
  const cache = createCache({ store, clock, log: silentLogger, random: () => 0.5 }, { flushMs: 0 });
  const stop = new AbortController();
  const endpoints = all.find('', 'v1', 'endpoints');
  const slices = all.find(`discovery.${vocabulary.apiGroupDomain}`, 'v1', 'endpointslices');
  if (endpoints === undefined || slices === undefined) throw new Error('both are there');
  for (const { storage } of [endpoints, slices]) cache.resource(storage);
  await cache.start(stop.signal);
  const admission = createAdmissionChain([]);
  const verbs = createVerbs({
    store,
    cache,
    admission,
    clock,
    vocabulary,
    gates: new Set(),
    *track() {},
  });
  const caller = {
    user: { name: 'me', groups: [], extra: {} },
    signal: stop.signal,
    warn: () => undefined,
    annotate: () => undefined,
  };
  return {
    start: (options = {}) =>
      createKubernetesService(
        { registry, cache, verbs, clock, log: silentLogger, vocabulary },
        { address: '192.0.2.1', port: 6443, clusterIP: undefined, shared: false, ...options },
      ),
    signal: stop.signal,
    endpoints: () => cache.resource(endpoints.storage).get(KEY)?.object(),
    revision: () => store.currentRevision(),
    mostWrites(count) {
      let writes = 0;
      const none = (): void => undefined;
      const onEvents = (): void => {
        writes += 1;
        if (writes > count) store.failWith(new StoreError('unavailable', `more than ${count} writes`));
      };
      store.watch('/', 1, { onEvents, onProgress: none, onEnd: none });
    },
    advance: (ms) => clock.advance(ms),
    slice: () => cache.resource(slices.storage).get(KEY)?.object(),
    async remove() {
      const ref = { resource: endpoints, namespace: 'default', name: vocabulary.apiService };
      await verbs.delete({ ref, dryRun: false, caller });
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await settle();
    },
  };
}

describe('the endpoints of the API server', () => {
  test('are created, and follow its address and port', async () => {
    await using fixture = await createFixture();
    await fixture.start().begin(fixture.signal);
    expect(fixture.endpoints()).toMatchObject({
      metadata: { labels: { [`endpointslice.${vocabulary.domain}/skip-mirror`]: 'true' } },
      subsets: [
        { addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
      ],
    });
    expect(fixture.slice()).toMatchObject({
      metadata: { labels: { [`${vocabulary.domain}/service-name`]: vocabulary.apiService } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
      ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
    });
    const before = fixture.endpoints()?.metadata.resourceVersion;
    await fixture.start().begin(fixture.signal);
    expect(fixture.endpoints()?.metadata.resourceVersion).toBe(before);
    await fixture.start({ address: '192.0.2.9', port: 443 }).begin(fixture.signal);
    expect(fixture.endpoints()).toMatchObject({
      subsets: [{ addresses: [{ ip: '192.0.2.9' }], ports: [{ port: 443 }] }],
    });
  });

  test('are empty if the address is not reachable from other machines', async () => {
    await using fixture = await createFixture();
    await fixture.start({ address: '127.0.0.1' }).begin(fixture.signal);
    expect(fixture.endpoints()).toBeUndefined();
  });

  test('are restored, and the server withdraws only its own address on shutdown', async () => {
    await using fixture = await createFixture();
    await fixture.start({ address: '192.0.2.2', shared: true }).begin(fixture.signal);
    const own = fixture.start({ shared: true });
    await own.begin(fixture.signal);
    expect(addressesOf(fixture.endpoints())).toEqual(['192.0.2.1', '192.0.2.2']);
    const ending = new AbortController();
    const running = own.run(ending.signal);
    await fixture.remove();
    while (fixture.endpoints() === undefined) await settle();
    expect(addressesOf(fixture.endpoints())).toEqual(['192.0.2.1']);
    ending.abort();
    await running;
    await settle();
    expect(addressesOf(fixture.endpoints())).toEqual([]);
  });

  test('are not rewritten without limit by servers on different ports', async () => {
    await using fixture = await createFixture();
    fixture.mostWrites(400);
    const ending = new AbortController();
    await using stack = new AsyncDisposableStack();
    const servers = [6443, 6444].map((port, i) =>
      fixture.start({ address: `192.0.2.${i + 1}`, port, shared: true }).run(ending.signal),
    );
    stack.defer(async () => {
      ending.abort();
      await Promise.all(servers);
    });
    const written = async (): Promise<number> => {
      for (let turn = 0; turn < 300; turn += 1) await settle();
      return fixture.revision();
    };
    const first = await written();
    expect(await written()).toBe(first);
    await fixture.advance(60_000);
    expect((await written()) - first).toBeLessThan(150);
  });
});
