/** All verbs on a store in memory, for tests of races. */
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Steps } from '#api/kit/steps.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createCache } from '../cache/cache.ts';
import { builtinResources } from '../resources/builtin.ts';
import type { ApiObject } from '../resources/contract.ts';
import { coreKinds } from '../resources/core/table.ts';
import { groupKinds } from '../resources/groups/table.ts';
import { createResourceRegistry } from '../resources/registry.ts';
import type { Store } from '../store/contract.ts';
import { createMemoryStore } from '../store/memory-store.fixture.ts';
import type { Caller, ObjectRef, Verbs } from './contract.ts';
import { createAdmissionChain, createVerbs } from './verbs.ts';

const vocabulary = VOCABULARIES.plat;
export const caller: Caller = {
  user: { name: 'me', uid: '', groups: [], extra: {} },
  signal: new AbortController().signal,
  warn: () => undefined,
  annotate: () => undefined,
};
/** Options of an apply. */
export const options = { dryRun: false, fieldManager: 'me', manage: 'apply' } as const;

export const configMap = (data: Readonly<Record<string, string>>): ApiObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'n' },
  data,
});

export interface Fixture extends AsyncDisposable {
  readonly verbs: Verbs;
  readonly ref: ObjectRef;
  /** Runs within the next write, before it is stored; receives its name. */
  meanwhile(work: (name: string) => Promise<unknown>): void;
}

/** @param store shared with other verbs, or with none; one of its own unless given */
export async function createFixture(
  group = '',
  plural = 'configmaps',
  store: Store = createMemoryStore(),
): Promise<Fixture> {
  const clock = createFakeClock();
  const allocation = { repair: () => Promise.reject(new Error('no services here')) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no test uses a service
  const core = coreKinds({ vocabulary, allocation: allocation as never, eventTtlSeconds: 3600 });
  const kinds = { ...core, ...groupKinds({ vocabulary }) };
  const registry = createResourceRegistry(builtinResources({ vocabulary, gates: new Set(), kinds }));
  const resource = registry.find(group, 'v1', plural);
  if (resource === undefined) throw new Error(`no ${plural}`);
  const cache = createCache({ store, clock, log: silentLogger, random: () => 0.5 }, { flushMs: 0 });
  const stop = new AbortController();
  cache.resource(resource.storage);
  await cache.start(stop.signal);
  let pending: ((name: string) => Promise<unknown>) | undefined;
  const admission = createAdmissionChain([
    {
      name: 'Meanwhile',
      operations: ['CREATE'],
      async validate({ name }) {
        const work = pending;
        pending = undefined;
        await work?.(name);
      },
    },
  ]);
  function* track(): Steps<void> {}
  return {
    verbs: createVerbs({ store, cache, admission, clock, vocabulary, gates: new Set(), track }),
    ref: { resource, namespace: 'n', name: 'c' },
    meanwhile(work) {
      pending = work;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(stop.abort()),
  };
}
