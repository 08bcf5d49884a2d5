/** Encryption at rest of a whole server, on both stores, with a KMS plugin in a process of its own. */
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startKmsPlugin } from '#plane/encryption/kms-plugin-process.fixture.ts';
import { API_ALONE, startTestPlane, type TestPlane } from '#plane/main.fixture.ts';
import type { Store } from '#plane/store/contract.ts';
import { createEmbeddedStore } from '#plane/store/embedded/store.ts';
import { createThreadedEtcdStore } from '#plane/store/etcd/thread.ts';
import { type EtcdCluster, startEtcd } from '#plane/store/etcd.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const PATH = '/api/v1/namespaces/default/secrets';
const PLAIN = 'c2VjcmV0LXRoYXQtbm9ib2R5LXNlZXM=';
const KEY = `/registry/secrets/default/`;

let etcd: EtcdCluster;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd[Symbol.asyncDispose]());

const keys = (...names: readonly string[]): string =>
  names.map((name) => `{name: ${name}, secret: ${Buffer.alloc(32, name).toString('base64')}}`).join(', ');

const fileOf = (providers: readonly string[]): string =>
  `apiVersion: apiserver.config.${VOCABULARIES.kubernetes.apiGroupDomain}/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
${providers.map((provider) => `  - ${provider}\n`).join('')}`;

interface World extends AsyncDisposable {
  readonly socket: string;
  readonly dir: string;
  readonly file: string;
  /** Replaces the file at once, as editors and mounts do. */
  configure(...providers: readonly string[]): Promise<void>;
}

async function setUp(...providers: readonly string[]): Promise<World> {
  const temp = await createTempDir('na-encryption-');
  const file = join(temp.path, 'encryption.yaml');
  await writeFile(file, fileOf(providers));
  return {
    socket: join(temp.path, 'kms.sock'),
    dir: temp.path,
    file,
    async configure(...next) {
      await writeFile(`${file}.new`, fileOf(next));
      await rename(`${file}.new`, file);
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

let prefixes = 0;
const storeFlags = (kind: 'embedded' | 'etcd'): readonly string[] => {
  prefixes += 1;
  return kind === 'embedded' ? [] : [`--etcd-servers=${etcd.urls.join(',')}`, `--etcd-prefix=/e${prefixes}`];
};

const start = (world: World, ...flags: readonly string[]): Promise<TestPlane> =>
  startTestPlane([
    ...API_ALONE,
    '--vocabulary=kubernetes',
    `--encryption-provider-config=${world.file}`,
    ...flags,
  ]);

const secret = (name: string): object => ({ metadata: { name }, data: { key: PLAIN } });

interface StoredSecret {
  readonly metadata: { readonly resourceVersion: string };
  readonly data: { readonly key: string };
}

async function secretOf(plane: TestPlane, name: string): Promise<StoredSecret> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server under test sent it
  return JSON.parse((await plane.get(`${PATH}/${name}`)).text) as StoredSecret;
}

async function countOf(plane: TestPlane): Promise<number> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server under test sent it
  return (JSON.parse((await plane.get(PATH)).text) as { readonly items: readonly unknown[] }).items.length;
}

async function create(plane: TestPlane, name: string): Promise<void> {
  expect((await plane.post(PATH, secret(name))).status).toBe(201);
}

/** The values of Secrets as they are stored. The server has been stopped. */
async function storedSecrets(plane: TestPlane, flags: readonly string[]): Promise<readonly string[]> {
  const prefix = flags.find((flag) => flag.startsWith('--etcd-prefix='))?.slice('--etcd-prefix='.length);
  const store: Store =
    prefix === undefined
      ? await createEmbeddedStore({ dir: join(plane.dir, 'store') })
      : createThreadedEtcdStore({ servers: etcd.urls, prefix });
  const { items } = await store.range(KEY);
  await store.close();
  return items.map(({ value }) => value.toString('latin1'));
}

const metricsOf = async (plane: TestPlane): Promise<string> => (await plane.get('/metrics')).text;

describe.each(['embedded', 'etcd'] as const)('on the store of kind %s', (kind) => {
  test('keys rotate while the server runs, and an update without a change rewrites the value', async () => {
    const flags = storeFlags(kind);
    await using world = await setUp(`aescbc: {keys: [${keys('one')}]}`);
    await using plane = await start(world, ...flags);
    await create(plane, 'a');
    await create(plane, 'b');
    await world.configure(`secretbox: {keys: [${keys('two')}]}`, `aescbc: {keys: [${keys('one')}]}`);
    await eventually(async () => (await metricsOf(plane)).includes('automatic_reload_success_total 1'));
    const stored = await secretOf(plane, 'a');
    expect((await plane.call('PUT', `${PATH}/a`, { body: stored })).status).toBe(200);
    const rewritten = await secretOf(plane, 'a');
    expect(rewritten.metadata.resourceVersion).not.toBe(stored.metadata.resourceVersion);
    // Not stale any more: nothing is written.
    await plane.call('PUT', `${PATH}/a`, { body: rewritten });
    expect((await plane.get(`${PATH}/a`)).json).toEqual(rewritten);

    await plane.restart();
    expect(await countOf(plane)).toBe(2);
    await plane.stop();
    const [a = '', b = ''] = await storedSecrets(plane, flags);
    expect(a.startsWith('k8s:enc:secretbox:v1:two:')).toBe(true);
    expect(b.startsWith('k8s:enc:aescbc:v1:one:')).toBe(true);
  }, 60_000);

  test.each(['v1', 'v2'])(
    'a key management service of version %s',
    async (version) => {
      const flags = storeFlags(kind);
      const kms = (endpoint: string): string =>
        `kms: {apiVersion: ${version}, name: test, endpoint: 'unix://${endpoint}', timeout: 1s}`;
      await using world = await setUp('identity: {}');
      await world.configure(kms(world.socket));
      let plugin = await startKmsPlugin(world.socket);
      await using plane = await start(world, ...flags);
      await create(plane, 'a');
      expect((await plane.get('/readyz/kms-provider-0')).status).toBe(200);

      await plugin.kill();
      // Known values are still served; new ones cannot be encrypted; other objects are not affected.
      expect((await secretOf(plane, 'a')).data.key).toBe(PLAIN);
      expect((await plane.post(PATH, secret('b'))).status).toBe(503);
      const configMap = { metadata: { name: 'c' } };
      expect((await plane.post('/api/v1/namespaces/default/configmaps', configMap)).status).toBe(201);

      plugin = await startKmsPlugin(world.socket, 'key-2');
      await eventually(async () => (await plane.post(PATH, secret('b'))).status === 201);
      await plane.restart();
      expect(await countOf(plane)).toBe(2);
      expect((await secretOf(plane, 'b')).data.key).toBe(PLAIN);
      expect(await metricsOf(plane)).toMatch(/apiserver_envelope_encryption_dek_cache_fill_percent 0\.00/);
      await plane.stop();
      for (const value of await storedSecrets(plane, flags)) {
        expect(value.startsWith(`k8s:enc:kms:${version}:test:`)).toBe(true);
        expect(value).not.toContain(PLAIN);
      }
      await plugin.kill();
    },
    60_000,
  );
});

test('no file of the embedded store contains a secret', async () => {
  await using world = await setUp(`aesgcm: {keys: [${keys('one')}]}`);
  await using plane = await start(world);
  await create(plane, 'a');
  const dir = join(plane.dir, 'store');
  const content = await Promise.all((await readdir(dir)).map((name) => readFile(join(dir, name), 'latin1')));
  expect(content.join('')).toContain('k8s:enc:aesgcm:v1:one:');
  expect(content.join('')).not.toContain(PLAIN);
}, 60_000);

test('the server starts once the key management service does', async () => {
  await using world = await setUp('identity: {}');
  await world.configure(`kms: {name: test, endpoint: 'unix://${world.socket}', timeout: 1s}`, 'identity: {}');
  await using first = await startKmsPlugin(world.socket);
  await using plane = await start(world);
  await create(plane, 'a');
  await first.kill();
  const restarted = plane.restart();
  const early = await Promise.race([
    restarted.then(() => 'started'),
    new Promise((resolve) => setTimeout(() => resolve('waits'), 1500)),
  ]);
  expect(early).toBe('waits');
  await using second = await startKmsPlugin(world.socket);
  await restarted;
  expect((await secretOf(plane, 'a')).data.key).toBe(PLAIN);
  second.pause(true);
  expect((await plane.post(PATH, secret('b'))).status).toBe(503);
  expect((await plane.get(`${PATH}/a`)).status).toBe(200);
  second.pause(false);
  await create(plane, 'b');
}, 60_000);

test('values that cannot be decrypted are missing, nothing is scheduled as if they did not exist, and they come back', async () => {
  await using world = await setUp();
  const rules = (...pods: readonly string[]): string =>
    `${fileOf([`kms: {name: test, endpoint: 'unix://${world.socket}', timeout: 1s}`])}- resources: [pods]
  providers:
  - aescbc: {keys: [${keys(...pods)}]}
`;
  const configure = async (...pods: readonly string[]): Promise<void> => {
    await writeFile(`${world.file}.new`, rules(...pods));
    await rename(`${world.file}.new`, world.file);
  };
  await configure('one');
  await using plugin = await startKmsPlugin(world.socket);
  const logged: string[] = [];
  const note = (_fields: object, message: string): void => void logged.push(message);
  const log: Logger = { ...silentLogger, warn: note, info: note, child: () => log };
  const flags = [
    '--vocabulary=kubernetes',
    `--encryption-provider-config=${world.file}`,
    '--controllers=namespace',
    '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
  ];
  await using plane = await startTestPlane(flags, log);
  const amounts = { cpu: '1', memory: '1Gi', pods: '10' };
  const status = { capacity: amounts, allocatable: amounts };
  expect((await plane.post('/api/v1/nodes', { metadata: { name: 'n' }, status })).status).toBe(201);
  const PODS = '/api/v1/namespaces/default/pods';
  const resources = { requests: { cpu: '800m' } };
  const pod = (name: string): object => ({
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'i', resources }] },
  });
  const nodeOf = async (name: string): Promise<unknown> =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server under test sent it
    ((await plane.get(`${PODS}/${name}`)).json as { spec?: { nodeName?: string } }).spec?.nodeName;
  expect((await plane.post(PODS, pod('early'))).status).toBe(201);
  await eventually(async () => (await nodeOf('early')) === 'n');
  await create(plane, 'a');
  await configure('two', 'one');
  await eventually(async () => (await metricsOf(plane)).includes('automatic_reload_success_total 1'));
  expect((await plane.post(PODS, pod('late'))).status).toBe(201);

  // The first pod's key is gone, and the service of the Secrets is silent.
  await configure('two');
  plugin.pause(true);
  const restarted = plane.restart();
  const configMap = { metadata: { name: 'c' } };
  await eventually(
    async () => (await plane.post('/api/v1/namespaces/default/configmaps', configMap)).status === 201,
    { timeoutMs: 120_000 },
  );
  const missing = await plane.get(`${PODS}/early`);
  expect([missing.status, missing.text]).toEqual([503, expect.stringContaining('cannot be decrypted yet')]);
  expect((await plane.get(PODS)).status).toBe(503);
  expect((await plane.get(`${PATH}/a`)).status).toBe(503);
  await eventually(() =>
    logged.includes('Scheduling waits: stored pods, nodes or volumes cannot be decrypted'),
  );
  expect(await nodeOf('late')).toBeUndefined();

  plugin.pause(false);
  await eventually(async () => (await plane.get(`${PATH}/a`)).status === 200, { timeoutMs: 60_000 });
  expect((await secretOf(plane, 'a')).data.key).toBe(PLAIN);
  await configure('two', 'one');
  await eventually(async () => (await nodeOf('early')) === 'n', { timeoutMs: 60_000 });
  await restarted;
  expect((await plane.get(PODS)).status).toBe(200);
  // The node was full all the time.
  expect(await nodeOf('late')).toBeUndefined();
  expect((await plane.call('DELETE', `${PODS}/early?gracePeriodSeconds=0`)).status).toBe(200);
  await eventually(async () => (await nodeOf('late')) === 'n', { timeoutMs: 60_000 });
}, 240_000);

test('a file that cannot be used leaves the keys in use', async () => {
  await using world = await setUp(`aescbc: {keys: [${keys('one')}]}`);
  await using plane = await start(world);
  await world.configure('aescbc: {}');
  const failed = async (): Promise<boolean> =>
    (await metricsOf(plane)).includes('automatic_reload_failures_total 1');
  expect(await eventually(failed)).toBe(true);
  await create(plane, 'a');
}, 60_000);

test('values are readable in the other store', async () => {
  await using world = await setUp(`aesgcm: {keys: [${keys('one')}]}`);
  await using source = await start(world);
  await create(source, 'a');
  await source.stop();
  const from = await createEmbeddedStore({ dir: join(source.dir, 'store') });
  const flags = storeFlags('etcd');
  const to = createThreadedEtcdStore({ servers: etcd.urls, prefix: flags[1]?.split('=')[1] ?? '' });
  for (const { key, value } of (await from.range('/registry/')).items) await to.put(key, value, 'absent');
  await Promise.all([from.close(), to.close()]);
  await using target = await start(world, ...flags);
  expect((await secretOf(target, 'a')).data.key).toBe(PLAIN);
}, 60_000);
