/** What comes of a write when another one is faster. */
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Job } from '#api/schema/gen/batch-v1.ts';
import type { ObjectMeta } from '#api/schema/gen/meta-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createCache } from '../cache/cache.ts';
import { builtinResources } from '../resources/builtin.ts';
import type { ApiObject, Draft } from '../resources/contract.ts';
import { coreKinds } from '../resources/core/table.ts';
import { groupKinds } from '../resources/groups/table.ts';
import { createResourceRegistry } from '../resources/registry.ts';
import { typed } from '../resources/view.ts';
import { createMemoryStore } from '../testing/memory-store.ts';
import { createAdmissionChain } from './admit.ts';
import type { Caller, ObjectRef, Outcome, UpdateOptions, Verbs } from './contract.ts';
import { createVerbs } from './verbs.ts';

const vocabulary = VOCABULARIES.plat;
const caller: Caller = {
  user: { name: 'me', uid: '', groups: [], extra: {} },
  signal: new AbortController().signal,
  warn: () => undefined,
  annotate: () => undefined,
};
const options: UpdateOptions = { dryRun: false, fieldManager: 'me', manage: 'apply', allowCreate: true };

const configMap = (data: Readonly<Record<string, string>>): ApiObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'n' },
  data,
});

interface Fixture extends AsyncDisposable {
  readonly verbs: Verbs;
  readonly ref: ObjectRef;
  /** Runs within the next write, before it is stored, and is told of its name. */
  meanwhile(work: (name: string) => Promise<unknown>): void;
}

async function createFixture(group = '', plural = 'configmaps'): Promise<Fixture> {
  const store = createMemoryStore();
  const clock = createFakeClock();
  const allocation = { repair: () => Promise.reject(new Error('no services here')) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nobody asks for a service
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
  const track = (): void => undefined;
  return {
    verbs: createVerbs({ store, cache, admission, clock, vocabulary, gates: new Set(), track }),
    ref: { resource, namespace: 'n', name: 'c' },
    meanwhile(work) {
      pending = work;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(stop.abort()),
  };
}

const create = ({ verbs, ref }: Fixture, data: Readonly<Record<string, string>>): Promise<unknown> =>
  verbs.create(ref, configMap(data), { dryRun: false, fieldManager: 'me' }, caller);

describe('updateObject', () => {
  test('of what is not there works on what another made meanwhile', async () => {
    await using fixture = await createFixture();
    fixture.meanwhile(() => create(fixture, { theirs: '1' }));
    const seen: (ApiObject | undefined)[] = [];
    const outcome = await fixture.verbs.update(
      fixture.ref,
      (live) => {
        seen.push(live);
        const { data } = (live ?? configMap({})) as ApiObject & { data: Record<string, string> };
        return { ...(live ?? configMap({})), data: { ...data, mine: '2' } };
      },
      options,
      caller,
    );
    expect(seen.map((live) => live !== undefined)).toEqual([false, true]);
    expect(outcome.object['data']).toEqual({ theirs: '1', mine: '2' });
    expect(outcome.created).toBeUndefined();
  });
});

describe('createObject', () => {
  test('of what another made meanwhile fails', async () => {
    await using fixture = await createFixture();
    fixture.meanwhile(() => create(fixture, {}));
    await expect(create(fixture, {})).rejects.toMatchObject({
      reason: 'AlreadyExists',
      message: 'configmaps "c" already exists',
    });
  });

  test('fails in a dry run too if the name is taken', async () => {
    await using fixture = await createFixture();
    const { verbs, ref } = fixture;
    const dryRun = { dryRun: true, fieldManager: 'me' };
    await verbs.create(ref, configMap({}), dryRun, caller);
    await create(fixture, {});
    await expect(verbs.create(ref, configMap({}), dryRun, caller)).rejects.toMatchObject({
      reason: 'AlreadyExists',
    });
  });

  test('takes another generated name if one is taken, and all that is made of it', async () => {
    await using fixture = await createFixture('batch', 'jobs');
    const { verbs, ref } = fixture;
    const jobOf = (metadata: Draft<ObjectMeta>): ApiObject =>
      ref.resource.schema.decode({
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { namespace: 'n', ...metadata },
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
      }).object;
    const make = (metadata: Draft<ObjectMeta>): Promise<Outcome> =>
      verbs.create(
        { ...ref, name: metadata.name ?? '' },
        jobOf(metadata),
        { dryRun: false, fieldManager: 'me' },
        caller,
      );
    let taken = '';
    fixture.meanwhile((name) => {
      taken = name;
      return make({ name });
    });
    const { object } = await make({ generateName: 'job-' });
    const { metadata, spec } = typed<Job>(object);
    expect(taken).toMatch(/^job-/);
    expect(metadata?.name).toMatch(/^job-/);
    expect(metadata?.name).not.toBe(taken);
    expect(spec?.template.metadata?.labels).toEqual({
      'job-name': metadata?.name,
      'controller-uid': metadata?.uid,
    });
  });
});
