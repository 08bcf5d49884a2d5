/** The store on real etcd servers, in its thread. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { bytes, keysOf, mustPut, reasonOf, record } from '../conformance/tools.ts';
import { describeStore } from '../conformance.ts';
import type { Store, StoreError } from '../contract.ts';
import { type EtcdCluster, startEtcd } from '../etcd.fixture.ts';
import type { EtcdTls } from './servers.ts';
import { createEtcdStore } from './store.ts';
import { createThreadedEtcdStore, type ThreadedEtcdOptions } from './thread.ts';

let shared: EtcdCluster;
let opened: Store[] = [];
let prefixes = 0;

beforeAll(async () => {
  shared = await startEtcd();
});
afterAll(() => shared[Symbol.asyncDispose]());
afterEach(async () => {
  for (const store of opened) await store.close();
  opened = [];
});

function open(options: Partial<ThreadedEtcdOptions> = {}): Store {
  prefixes += 1;
  const store = createThreadedEtcdStore({ servers: shared.urls, prefix: `/t${prefixes}`, ...options });
  opened.push(store);
  return store;
}

describe('a store on etcd as any store', () => {
  describeStore({ open: () => Promise.resolve(open()) });
});

describe('a store on etcd', () => {
  test('is shared by several servers', async () => {
    const [one, two] = [open({ prefix: '/shared' }), open({ prefix: '/shared' })];
    const recorder = record(two, '/', await two.currentRevision());
    const revision = await mustPut(one, '/a', '1');
    expect((await two.put('/a', bytes('2'), 'absent')).ok).toBe(false);
    expect(await two.get('/a')).toEqual({ key: '/a', value: bytes('1'), revision });
    expect(keysOf(await recorder.upTo(revision))).toEqual(['/a']);
  });

  test('accesses only keys with its prefix', async () => {
    const [one, two] = [open({ prefix: '/p/1' }), open({ prefix: '/p/2' })];
    const start = await one.currentRevision();
    await mustPut(one, '/a', '1');
    const revision = await mustPut(two, '/b', '2');
    expect(keysOf((await one.range('/')).items)).toEqual(['/a']);
    expect(keysOf(await record(two, '', start).upTo(revision))).toEqual(['/b']);
  });

  test('takes an address without a scheme', async () => {
    const store = open({ servers: shared.urls.map((url) => url.slice('http://'.length)) });
    await mustPut(store, '/a', '1');
    expect(() => createThreadedEtcdStore({ servers: ['ftp://x'] })).toThrow(
      'not the address of an etcd server',
    );
  });

  test('reports that its thread could not start', async () => {
    const failed = Promise.withResolvers<StoreError>();
    const tls = { cert: bytes('no certificate'), key: bytes('no key') };
    const store = open({ servers: ['https://127.0.0.1:1'], tls, onFailure: failed.resolve });
    const sink = record(store, '/', 1);
    expect(await reasonOf(store.get('/a'))).toBe('unavailable');
    expect((await failed.promise).message).toContain('PEM');
    expect((await sink.untilEnd()).reason).toBe('unavailable');
    expect(await reasonOf(store.put('/a', bytes('1'), 'absent'))).toBe('unavailable');
  });

  test('reports that no server is available', async () => {
    const store = open({ servers: ['http://127.0.0.1:1'], timeoutMs: 300 });
    expect(await reasonOf(store.get('/a'))).toBe('unavailable');
    expect(await reasonOf(store.put('/a', bytes('1'), 'absent'))).toBe('unavailable');
  });

  test('passes over a server that is not there', async () => {
    const store = open({ servers: ['http://127.0.0.1:1', ...shared.urls] });
    const recorder = record(store, '/', await store.currentRevision());
    expect(await recorder.upTo(await mustPut(store, '/a', '1'))).toHaveLength(1);
  });

  test('reports exhausted space of the cluster, and continues to read', async () => {
    await using cluster = await startEtcd({ args: ['--quota-backend-bytes', '4000000'] });
    const store = open({ servers: cluster.urls });
    let reason: string = 'none';
    for (let i = 0; i < 50 && reason === 'none'; i += 1) {
      reason = await reasonOf(store.put(`/${i}`, Buffer.alloc(500_000), 'absent'));
    }
    expect(reason).toBe('noSpace');
    expect((await store.get('/0'))?.value).toHaveLength(500_000);
    await store.close();
  });

  test('reports a value that is too large', async () => {
    const store = open();
    expect(await reasonOf(store.put('/a', randomBytes(16 * 1024 * 1024), 'absent'))).toBe('tooLarge');
    expect(await reasonOf(store.put('/a', randomBytes(20 * 1024 * 1024), 'absent'))).toBe('tooLarge');
  });
});

describe('writes that come together', () => {
  const keys = Array.from({ length: 50 }, (_, i) => `/k${String(i).padStart(2, '0')}`);
  const putAll = (store: Store, value: Buffer): Promise<readonly number[]> =>
    Promise.all(keys.map((key) => mustPut(store, key, value)));

  test('are few transactions, and each is seen at its own revision', async () => {
    const store = open();
    const start = await store.currentRevision();
    const recorder = record(store, '/', start);
    const revisions = await putAll(store, bytes('x'));
    // Two transactions in flight may be performed in either order.
    const written = keys.map((key, i) => ({ key, revision: revisions[i] ?? 0 }));
    const inOrder = written.toSorted((a, b) => a.revision - b.revision);
    const transactions = ((await store.currentRevision()) - start) / store.revisionStep;
    expect(transactions).toBeLessThan(10);
    const events = await recorder.upTo(Math.max(...revisions));
    expect(events.map(({ key, revision }) => ({ key, revision }))).toEqual(inOrder);
  });

  test('are each refused or done by their own condition', async () => {
    const store = open();
    const there = await mustPut(store, '/k10', 'there');
    const results = await Promise.all(keys.map((key) => store.put(key, bytes('x'), 'absent')));
    const refused = results.flatMap((result) => (result.ok ? [] : [result.current]));
    expect(refused).toEqual([{ key: '/k10', value: bytes('there'), revision: there }]);
    expect((await store.range('/')).items).toHaveLength(50);
  });

  test.each([
    { what: 'few operations', args: ['--max-txn-ops', '4'], bytes: 10 },
    { what: 'small requests', args: ['--max-request-bytes', '20000'], bytes: 5000 },
  ])('are done on a cluster that takes only $what', async ({ args, bytes: length }) => {
    await using cluster = await startEtcd({ args });
    const store = open({ servers: cluster.urls });
    const revisions = await putAll(store, Buffer.alloc(length, 'x'));
    expect(new Set(revisions).size).toBe(50);
    expect(keysOf((await store.range('/')).items)).toEqual(keys);
    await store.close();
  });

  test('report exhausted space of the cluster to each of their writers', async () => {
    await using cluster = await startEtcd({ args: ['--quota-backend-bytes', '2000000'] });
    const store = open({ servers: cluster.urls });
    const value = Buffer.alloc(40_000);
    // etcd measures its file when it commits a batch, every 100 ms.
    const fill = async (): Promise<string> => {
      for (let i = 0; i < 5000; i += 1) {
        const reason = await reasonOf(store.put(`/fill${i}`, value, 'absent'));
        if (reason !== 'none') return reason;
      }
      return 'none';
    };
    expect(await fill()).toBe('noSpace');
    const reasons = await Promise.all(keys.map((key) => reasonOf(store.put(key, value, 'absent'))));
    expect(new Set(reasons)).toEqual(new Set(['noSpace']));
    await store.close();
  });
});

describe('a watch on etcd', () => {
  test('outlives a restart of the server without gap or duplicate', async () => {
    await using cluster = await startEtcd();
    const store = open({ servers: cluster.urls });
    const recorder = record(store, '/', await store.currentRevision());
    await recorder.upTo(await mustPut(store, '/a', '1'));
    await cluster.members[0]?.kill();
    await cluster.members[0]?.start();
    await mustPut(store, '/b', '2');
    const last = await mustPut(store, '/c', '3');
    expect(keysOf(await recorder.upTo(last))).toEqual(['/a', '/b', '/c']);
    expect(recorder.ended()).toBeUndefined();
    await store.close();
  });

  test('ends as compacted if history was lost while no server was there', async () => {
    await using cluster = await startEtcd({ size: 1 });
    const [member] = cluster.members;
    const other = open({ servers: cluster.urls, prefix: '/other' });
    const first = await mustPut(other, '/first', 'x');
    const second = await mustPut(other, '/second', 'x');
    await mustPut(other, '/third', 'x');
    await other.compact(second);
    await member?.kill();
    const late = open({ servers: cluster.urls, prefix: '/other' });
    const recorder = record(late, '/', first);
    await member?.start();
    expect((await recorder.untilEnd()).reason).toBe('compacted');
    expect(recorder.events).toEqual([]);
    await late.close();
    await other.close();
  });

  test('and writes go on when the servers of a cluster fail, one at a time', async () => {
    await using cluster = await startEtcd({ size: 3 });
    const store = open({ servers: cluster.urls, timeoutMs: 3000 });
    const recorder = record(store, '/', await store.currentRevision());
    const written: string[] = [];
    const writeSome = async (name: string): Promise<void> => {
      for (let i = 0; i < 20; i += 1) {
        const key = `/${name}${String(i).padStart(2, '0')}`;
        // A write whose response was lost may have been performed.
        for (let isDone = false; !isDone; ) {
          const result = await store.put(key, bytes('x'), 'absent').catch(() => undefined);
          isDone = result !== undefined;
        }
        written.push(key);
      }
    };
    await writeSome('start');
    for (const [i, member] of cluster.members.entries()) {
      await member.kill();
      await writeSome(`killed${i}`);
      await member.start();
      await writeSome(`back${i}`);
    }
    const seen = await recorder.upTo(await store.currentRevision());
    expect(keysOf(seen)).toEqual(written);
    await store.close();
  });
});

describe('a store on etcd with its own limits', () => {
  test('takes values that are longer, and gives them back in every way', async () => {
    await using cluster = await startEtcd({ args: ['--max-request-bytes', String(1.5 * 1024 * 1024)] });
    const address = { servers: cluster.urls, prefix: '/long' };
    const [one, two] = [open(address), open(address)];
    const start = await one.currentRevision();
    const secret = (length: number): Buffer =>
      bytes(JSON.stringify({ a: randomBytes(length).toString('base64') }));
    const values = [secret(1.49 * 1024 * 1024), bytes(JSON.stringify({ a: '\u0001'.repeat(1_500_000) }))];
    const recorder = record(two, '/', start);
    const written = await Promise.all(values.map((value, i) => one.put(`/${i}`, value, 'absent')));
    const small = await mustPut(one, '/2', '1');
    expect(written).toEqual([expect.objectContaining({ ok: true }), expect.objectContaining({ ok: true })]);
    const { items } = await two.range('/');
    expect(items.slice(0, 2).map(({ value }, i) => values[i]?.equals(value))).toEqual([true, true]);
    expect((await two.get('/0'))?.value.equals(values[0] ?? bytes(''))).toBe(true);
    const again = await two.put('/0', bytes('1'), 'absent');
    expect(!again.ok && again.current?.value.equals(values[0] ?? bytes(''))).toBe(true);
    const events = await recorder.upTo(small);
    const seen = events.map((event) => (event.type === 'put' ? event.value.length : 0));
    expect(seen.toSorted((a, b) => a - b)).toEqual(
      [1, ...values.map(({ length }) => length)].toSorted((a, b) => a - b),
    );
  });
});

describe('a watch that is held', () => {
  test('gives nothing, and goes on without a gap', async () => {
    const writer = open({ prefix: '/held' });
    const start = await writer.currentRevision();
    const store = createEtcdStore({ servers: shared.urls, prefix: '/held' });
    opened.push(store);
    const early = record(store, '/', start);
    await early.upTo(await mustPut(writer, '/a', '1'));
    store.holdWatches(true);
    const late = record(store, '/', start);
    const others = record(writer, '/', start);
    let last = 0;
    for (let i = 0; i < 50; i += 1) last = await mustPut(writer, `/b${String(i).padStart(2, '0')}`, '1');
    await others.upTo(last);
    expect([keysOf(early.events), late.events]).toEqual([['/a'], []]);
    store.holdWatches(false);
    const all = keysOf(others.events);
    expect(keysOf(await early.upTo(last))).toEqual(all);
    expect(keysOf(await late.upTo(last))).toEqual(all);
  });
});

describe('a store on etcd with TLS', () => {
  test('authenticates both sides', async () => {
    await using temp = await createTempDir('na-pki-');
    const file = (name: string): string => join(temp.path, name);
    const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' });
    const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ');
    const ends = (name: string): string[] => ['-keyout', file(`${name}.key`), '-subj', `/CN=${name}`];
    openssl('req', '-x509', ...key, ...ends('ca'), '-out', file('ca.crt'));
    writeFileSync(file('ext'), 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n');
    for (const name of ['server', 'client']) {
      openssl('req', ...key, ...ends(name), '-out', file(`${name}.csr`));
      const signer = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '2'];
      const files = ['-in', file(`${name}.csr`), '-out', file(`${name}.crt`), '-extfile', file('ext')];
      openssl('x509', '-req', ...signer, ...files);
    }
    const args = ['--cert-file', file('server.crt'), '--key-file', file('server.key')];
    const clientAuth = ['--client-cert-auth', '--trusted-ca-file', file('ca.crt')];
    await using cluster = await startEtcd({ scheme: 'https', args: [...args, ...clientAuth] });

    const ca = readFileSync(file('ca.crt'));
    const pair = { cert: readFileSync(file('client.crt')), key: readFileSync(file('client.key')) };
    const good = open({ servers: cluster.urls, tls: { ca, ...pair } });
    const revision = await mustPut(good, '/a', '1');
    expect(keysOf(await record(good, '/', 1).upTo(revision))).toEqual(['/a']);
    await good.close();
    for (const tls of [{ ca }, pair]) {
      const bad = open({ servers: cluster.urls, tls, timeoutMs: 500 });
      expect(await reasonOf(bad.get('/a'))).toBe('unavailable');
      await bad.close();
    }

    // Credentials that are replaced: calls work from then on, and an open watch goes on.
    let replaceTls: (tls: EtcdTls) => void = () => undefined;
    const followTls = (listener: typeof replaceTls): void => void (replaceTls = listener);
    const changing = open({ servers: cluster.urls, tls: { ca }, timeoutMs: 500, followTls });
    expect(await reasonOf(changing.get('/a'))).toBe('unavailable');
    replaceTls({ ca, ...pair });
    await expect.poll(() => reasonOf(changing.get('/a')), { timeout: 5000 }).not.toBe('unavailable');
    const watched = record(changing, '/', 1);
    await mustPut(changing, '/b', '1');
    replaceTls({ ca, ...pair });
    const last = await mustPut(changing, '/c', '1');
    expect(keysOf(await watched.upTo(last))).toEqual(['/b', '/c']);
    await changing.close();
  });
});
