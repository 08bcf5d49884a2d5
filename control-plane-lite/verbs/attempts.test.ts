/** Writes to a store with other writers, by a server whose cache has not seen their writes yet. */
import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../resources/contract.ts';
import { StoreError } from '../store/contract.ts';
import { createMemoryStore, type MemoryStore } from '../store/memory-store.fixture.ts';
import type { Outcome } from './contract.ts';
import { caller, configMap, createFixture, type Fixture, options } from './verbs.fixture.ts';

type Data = Readonly<Record<string, string>>;

interface TwoServers extends AsyncDisposable {
  readonly ours: Fixture;
  readonly theirs: Fixture;
  readonly memory: MemoryStore;
  /** Number of queries for the newest revision since the last time. */
  readonly questions: () => number;
  readonly puts: () => number;
  /** Overrides the store's next put; undefined: none. */
  failNextPut(error: StoreError): void;
}

async function createServers(): Promise<TwoServers> {
  const memory = createMemoryStore();
  let [questions, puts] = [0, 0];
  let failure: StoreError | undefined;
  const store = {
    ...memory,
    isShared: true,
    currentRevision() {
      questions += 1;
      return memory.currentRevision();
    },
    async put(...put: Parameters<MemoryStore['put']>) {
      puts += 1;
      const result = await memory.put(...put);
      const error = failure;
      failure = undefined;
      if (error !== undefined) throw error;
      return result;
    },
  };
  const ours = await createFixture('', 'configmaps', store);
  const theirs = await createFixture('', 'configmaps', { ...memory, isShared: true });
  await theirs.verbs.create({
    ref: theirs.ref,
    object: configMap({ a: '1' }),
    dryRun: false,
    fieldManager: 'me',
    caller,
  });
  await ours.verbs.get(ours.ref);
  questions = 0;
  return {
    ours,
    theirs,
    memory,
    questions: () => questions,
    puts: () => puts,
    failNextPut(error) {
      failure = error;
    },
    async [Symbol.asyncDispose]() {
      await ours[Symbol.asyncDispose]();
      await theirs[Symbol.asyncDispose]();
    },
  };
}

const dataOf = (object: ApiObject | undefined): Data =>
  (object as { readonly data?: Data } | undefined)?.data ?? {};

const set = (
  { verbs, ref }: Fixture,
  data: Data,
  more: { readonly dryRun?: boolean } = {},
  metadata: Data = {},
): Promise<Outcome> =>
  verbs.update({
    ref,
    change: (live) => ({
      ...live,
      metadata: { ...live.metadata, ...metadata },
      data: { ...dataOf(live), ...data },
    }),
    ...options,
    ...more,
    caller,
  });

const remove = ({ verbs, ref }: Fixture, uid?: string): Promise<Outcome> =>
  verbs.delete({ ref, dryRun: false, ...(uid === undefined ? {} : { preconditions: { uid } }), caller });

/** Our server receives the following events while the operation is in flight. */
async function unknowing<T>(
  { memory }: TwoServers,
  before: () => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  memory.pauseWatches(true);
  await before();
  const result = work();
  result.catch(() => undefined);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  memory.pauseWatches(false);
  return await result;
}

describe('a write on a shared store', () => {
  test('starts with the cached state, and queries nothing', async () => {
    await using servers = await createServers();
    expect(dataOf((await set(servers.ours, { b: '2' })).object)).toEqual({ a: '1', b: '2' });
    expect(servers.questions()).toBe(0);
    await remove(servers.ours);
    expect(servers.questions()).toBe(0);
  });

  test('works on the object that another server wrote', async () => {
    await using servers = await createServers();
    const { object } = await unknowing(
      servers,
      () => set(servers.theirs, { b: '2' }),
      () => set(servers.ours, { c: '3' }),
    );
    expect(dataOf(object)).toEqual({ a: '1', b: '2', c: '3' });
  });

  test('is no change only if the newest state has it', async () => {
    await using servers = await createServers();
    const { object } = await unknowing(
      servers,
      () => set(servers.theirs, { a: '2' }),
      () => set(servers.ours, { a: '1' }),
    );
    expect(dataOf(object)).toEqual({ a: '1' });
    expect(dataOf((await set(servers.theirs, { d: '4' })).object)).toEqual({ a: '1', d: '4' });
    const puts = servers.puts();
    const { metadata } = (await set(servers.ours, { a: '1' })).object;
    expect(metadata.resourceVersion).toBe(
      (await servers.theirs.verbs.get(servers.theirs.ref)).revision.toString(),
    );
    expect(servers.puts()).toBe(puts);
  });

  test('is rejected only if the newest state rejects it', async () => {
    await using servers = await createServers();
    let resourceVersion = '';
    const { object } = await unknowing(
      servers,
      async () => {
        const theirs = await set(servers.theirs, { b: '2' });
        resourceVersion = theirs.object.metadata.resourceVersion ?? '';
      },
      () => set(servers.ours, { c: '3' }, {}, { resourceVersion }),
    );
    expect(dataOf(object)).toEqual({ a: '1', b: '2', c: '3' });
    await expect(set(servers.ours, { c: '4' }, {}, { resourceVersion })).rejects.toMatchObject({
      reason: 'Conflict',
    });
  });

  test('of an object that another server deleted finds nothing', async () => {
    await using servers = await createServers();
    const before = (): Promise<unknown> => remove(servers.theirs);
    await expect(unknowing(servers, before, () => set(servers.ours, { c: '3' }))).rejects.toMatchObject({
      reason: 'NotFound',
    });
  });

  test('does not delete the object that another server has put in its place', async () => {
    await using servers = await createServers();
    const { ours, theirs } = servers;
    const { uid = '' } = (await set(ours, { b: '2' })).object.metadata;
    const before = async (): Promise<void> => {
      await remove(theirs);
      await theirs.verbs.create({
        ref: theirs.ref,
        object: configMap({}),
        dryRun: false,
        fieldManager: 'me',
        caller,
      });
    };
    await expect(unknowing(servers, before, () => remove(ours, uid))).rejects.toMatchObject({
      reason: 'Conflict',
    });
    expect((await theirs.verbs.get(theirs.ref)).json.toString()).not.toContain(uid);
  });

  test('is not repeated if its response is lost', async () => {
    await using servers = await createServers();
    const puts = servers.puts();
    servers.failNextPut(new StoreError('unavailable', 'the response is lost'));
    await expect(set(servers.ours, { b: '2' })).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
    expect(servers.puts()).toBe(puts + 1);
  });

  test('reads the newest state where nothing is written', async () => {
    await using servers = await createServers();
    const { object } = await unknowing(
      servers,
      () => set(servers.theirs, { b: '2' }),
      () => set(servers.ours, { c: '3' }, { dryRun: true }),
    );
    expect(dataOf(object)).toEqual({ a: '1', b: '2', c: '3' });
  });
});
