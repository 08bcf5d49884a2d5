import { describe, expect, test } from 'vitest';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { type Store, StoreError, type StoreEvent } from '../store/contract.ts';
import { createMemoryStore } from '../store/memory-store.fixture.ts';
import { aesCbc, aesGcm, IDENTITY, secretbox, withPrefix } from './ciphers.ts';
import type { Chain, Transformer } from './contract.ts';
import { createEncryptedStore } from './encrypted-store.ts';
import { createEncryptionMetrics } from './metrics.ts';

const MARK = 'k8s:enc:';
const SECRETS = '/registry/secrets/';
const NAME = `${SECRETS}a/b`;
const VALUE = Buffer.from('{"data":"value"}');

const one = withPrefix(`${MARK}aescbc:v1:one:`, aesCbc(Buffer.alloc(32, 1)));
const two = withPrefix(`${MARK}aesgcm:v1:two:`, aesGcm(Buffer.alloc(32, 2)));
const box = withPrefix(`${MARK}secretbox:v1:box:`, secretbox(Buffer.alloc(32, 3)));

/** As a key management service, whose calls last until they are released. */
function remote(): Transformer & { fail: Error | undefined; release(): void } {
  const prefix = `${MARK}kms:v1:remote:`;
  let gate = Promise.withResolvers<void>();
  const local = withPrefix(prefix, aesGcm(Buffer.alloc(32, 4)));
  const made = {
    ...local,
    fail: undefined as Error | undefined,
    release() {
      gate.resolve();
      gate = Promise.withResolvers<void>();
    },
    async open(sealed: Buffer, context: Buffer) {
      await gate.promise;
      if (made.fail !== undefined) throw made.fail;
      return local.open(sealed, context);
    },
  };
  return made;
}

function setUp(chain: Chain, inner: Store = createMemoryStore()) {
  const registry = createMetricsRegistry();
  const state = { chain };
  const store = createEncryptedStore({
    store: inner,
    keyring: () => ({ chains: new Map([[SECRETS, state.chain]]), kms: [] }),
    mark: Buffer.from(MARK),
    metrics: createEncryptionMetrics(registry),
  });
  return { inner, store, registry, use: (next: Chain) => void (state.chain = next) };
}

function follow(store: Store) {
  const seen: string[] = [];
  const events: StoreEvent[] = [];
  const watch = store.watch('/registry/', 1, {
    onEvents(given) {
      events.push(...given);
      seen.push(...given.map(({ type, key }) => `${type} ${key}`));
    },
    onProgress: (revision) => void seen.push(`progress ${revision}`),
    onEnd: (error) => void seen.push(`end ${error.reason}`),
  });
  return { seen, events, watch };
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

test('values that cannot be decrypted are separated from the others, if the caller requests it', async () => {
  const { inner, store, use } = setUp([one]);
  await store.put(`${SECRETS}a/a`, VALUE, 'absent');
  await inner.put('/registry/pods/a/c', VALUE, 'absent');
  use([two, one]);
  await store.put(`${SECRETS}a/b`, VALUE, 'absent');
  use([two]);
  await expect(store.range('/registry/')).rejects.toThrow(StoreError);
  const { items, sealed = [] } = await store.range('/registry/', { sealed: 'return' });
  expect(items.map(({ key, value }) => [key, String(value)])).toEqual([
    ['/registry/pods/a/c', String(VALUE)],
    [`${SECRETS}a/b`, String(VALUE)],
  ]);
  expect(sealed).toMatchObject([{ key: `${SECRETS}a/a`, error: { reason: 'corrupt' } }]);
  use([two, one]);
  expect((await store.range('/registry/', { sealed: 'return' })).sealed).toEqual([]);
});

describe.each([one, two, box])('values of $prefix', (transformer) => {
  test('are encrypted in the store and plain everywhere else', async () => {
    const { inner, store } = setUp([transformer]);
    const followed = follow(store);
    await store.put(NAME, VALUE, 'absent');
    const stored = await inner.get(NAME);
    expect(stored?.value.toString('latin1').startsWith(transformer.prefix)).toBe(true);
    expect(stored?.value.includes('value')).toBe(false);
    expect((await store.get(NAME))?.value).toEqual(VALUE);
    expect((await store.range('/registry/')).items[0]?.value).toEqual(VALUE);
    expect(await store.put(NAME, VALUE, 'absent')).toMatchObject({ ok: false, current: { value: VALUE } });
    expect(followed.events).toEqual([{ type: 'put', key: NAME, value: VALUE, revision: 2 }]);
  });
});

describe('long values', () => {
  const long = Buffer.from(`{"data":"${'value '.repeat(500_000)}"}`);

  test.each([one, two, box])('of $prefix are packed before they are encrypted', async (transformer) => {
    const { inner, store } = setUp([transformer]);
    await store.put(NAME, long, 'absent');
    const stored = await inner.get(NAME);
    expect(stored?.value.toString('latin1').startsWith(transformer.prefix)).toBe(true);
    expect(stored?.value.length).toBeLessThan(long.length / 10);
    expect((await store.get(NAME))?.value.equals(long)).toBe(true);
  });

  test('of a key management service as well', async () => {
    const transformer = remote();
    const { store } = setUp([transformer]);
    await store.put(NAME, long, 'absent');
    const read = store.get(NAME);
    await settle();
    transformer.release();
    expect((await read)?.value.equals(long)).toBe(true);
  });

  test('that were encrypted but not packed are read as they are', async () => {
    const { inner, store } = setUp([one]);
    const sealed = await one.seal(long, Buffer.from(NAME));
    await inner.put(NAME, Buffer.concat([Buffer.from(one.prefix), sealed]), 'absent');
    expect((await store.get(NAME))?.value.equals(long)).toBe(true);
  });

  test('whose packed form is broken fail to be read', async () => {
    const { inner, store } = setUp([one]);
    const sealed = await one.seal(Buffer.from([1, 3, 0xff, 0xff]), Buffer.from(NAME));
    await inner.put(NAME, Buffer.concat([Buffer.from(one.prefix), sealed]), 'absent');
    await expect(store.get(NAME)).rejects.toMatchObject({ reason: 'corrupt' });
  });
});

test('values of other resources are the very same', async () => {
  const { inner, store } = setUp([one]);
  await store.put('/registry/pods/a/b', VALUE, 'absent');
  expect((await inner.get('/registry/pods/a/b'))?.value).toBe(VALUE);
  expect((await store.get('/registry/pods/a/b'))?.value).toBe(VALUE);
});

describe('rotation', () => {
  test.each<readonly [string, Chain, Chain, boolean]>([
    ['the same key', [one], [one, two], false],
    ['a new first key', [one], [two, one], true],
    ['encryption begins', [IDENTITY], [one, IDENTITY], true],
    ['encryption ends', [one], [IDENTITY, one], true],
  ])('%s', async (_, before, after, isStale) => {
    const { store, use } = setUp(before);
    await store.put(NAME, VALUE, 'absent');
    await store.range('/registry/');
    expect(store.isStale?.(NAME)).toBe(false);
    use(after);
    expect(store.isStale?.(NAME)).toBe(isStale);
    expect((await store.get(NAME))?.value).toEqual(VALUE);
    const { revision = 0 } = (await store.get(NAME)) ?? {};
    await store.put(NAME, VALUE, revision);
    await store.get(NAME);
    expect(store.isStale?.(NAME)).toBe(false);
  });
});

describe('values that cannot be decrypted', () => {
  test.each<readonly [string, Chain]>([
    ['without the key', [two]],
    ['where nothing is encrypted', [IDENTITY]],
    ['with another key of the same name', [withPrefix(one.prefix, aesCbc(Buffer.alloc(32, 9)))]],
  ])('are errors that name them, never absent: %s', async (_, chain) => {
    const { store, use } = setUp([one]);
    // Without authentication, a wrong key is noticed by the padding only, of 255 values out of 256.
    for (const name of ['b', 'c', 'd', 'e']) await store.put(SECRETS + name, VALUE, 'absent');
    use(chain);
    await expect(store.range('/registry/')).rejects.toThrow(/\/registry\/secrets\/[bcde]/);
    const followed = follow(store);
    await settle();
    expect(followed.seen).toEqual(['end corrupt']);
  });

  test('plain values are refused where only encrypted ones are expected', async () => {
    const { inner, store, registry } = setUp([one]);
    await inner.put(NAME, VALUE, 'absent');
    await expect(store.get(NAME)).rejects.toThrow('is not encrypted');
    expect(registry.text()).toContain(
      'apiserver_storage_transformation_operations_total{transformation_type="from_storage",transformer_prefix="unknown",status="Unknown"} 1',
    );
  });

  test('encrypted values are refused for resources without a rule', async () => {
    const { inner, store } = setUp([one]);
    await inner.put('/registry/pods/a/b', Buffer.from(`${MARK}aescbc:v1:one:xyz`), 'absent');
    await expect(store.get('/registry/pods/a/b')).rejects.toThrow('encrypted with k8s:enc:aescbc:v1:one');
  });
});

describe('a key that has to be fetched', () => {
  test('delays later events of the watch, in order, and no reads of others', async () => {
    const kms = remote();
    const { store } = setUp([kms]);
    const followed = follow(store);
    const written = store.put(NAME, VALUE, 'absent');
    await settle();
    const other = store.put('/registry/pods/a', VALUE, 'absent');
    await settle();
    followed.watch.requestProgress();
    expect((await store.range('/registry/pods/')).items).toHaveLength(1);
    expect(followed.seen).toEqual([]);
    kms.release();
    await Promise.all([written, other]);
    await settle();
    expect(followed.seen).toEqual([`put ${NAME}`, 'put /registry/pods/a', 'progress 3']);
  });

  test('ends the watch if it cannot be fetched', async () => {
    const kms = remote();
    const { store } = setUp([kms]);
    const followed = follow(store);
    const written = store.put(NAME, VALUE, 'absent');
    await settle();
    kms.fail = new StoreError('unavailable', 'away');
    kms.release();
    await written;
    await settle();
    expect(followed.seen).toEqual(['end unavailable']);
  });
});
