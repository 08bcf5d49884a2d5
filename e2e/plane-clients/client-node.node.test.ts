/** Compatibility with a third-party client library: lists, patches, deletes, errors; its informer survives
 *  failures of the connection, the server and the history. */
import { readFile } from 'node:fs/promises';
import {
  ApiException,
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  ListWatch,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  type V1Status,
  Watch,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { configMap, type Plane, usePlane, VOCABULARY_NAMES } from '../plane/support.ts';
import { type Relay, startRelay } from './relay.ts';

describe.each(VOCABULARY_NAMES)('in the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary);
  let config: KubeConfig;
  let core: CoreV1Api;

  beforeAll(() => {
    config = new KubeConfig();
    config.loadFromFile(plane.server.platconfigFile);
    core = config.makeApiClient(CoreV1Api);
  });

  async function namespace(): Promise<string> {
    return (await plane.namespace()).split('/').at(-1) ?? '';
  }

  test('creates, reads, replaces, lists page by page, and deletes', async () => {
    const where = { namespace: await namespace() };
    for (const name of ['a', 'b', 'c']) {
      await core.createNamespacedConfigMap({
        ...where,
        body: { metadata: { name, labels: { name } }, data: { v: '1' } },
      });
    }
    const read = await core.readNamespacedConfigMap({ ...where, name: 'a' });
    expect(read.metadata?.creationTimestamp).toBeInstanceOf(Date);
    await core.replaceNamespacedConfigMap({
      ...where,
      name: 'a',
      body: Object.assign(read, { data: { v: '2' } }),
    });
    const first = await core.listNamespacedConfigMap({ ...where, limit: 2 });
    const rest = await core.listNamespacedConfigMap({
      ...where,
      limit: 2,
      // oxlint-disable-next-line no-underscore-dangle -- the library's name for it
      _continue: first.metadata?._continue ?? '',
    });
    expect(first.metadata?.remainingItemCount).toBe(1);
    expect([...first.items, ...rest.items].map((item) => [item.metadata?.name, item.data?.['v']])).toEqual([
      ['a', '2'],
      ['b', '1'],
      ['c', '1'],
    ]);
    const selected = await core.listNamespacedConfigMap({
      ...where,
      labelSelector: 'name in (b,c)',
      fieldSelector: 'metadata.name!=c',
    });
    expect(selected.items.map((item) => item.metadata?.name)).toEqual(['b']);
    expect((await core.deleteNamespacedConfigMap({ ...where, name: 'a' })).status).toBe('Success');
    await core.deleteCollectionNamespacedConfigMap(where);
    expect((await core.listNamespacedConfigMap(where)).items).toEqual([]);
  });

  test('reports failures by their codes and reasons', async () => {
    const where = { namespace: await namespace() };
    const failure = async (work: Promise<unknown>): Promise<readonly [number, string | undefined]> => {
      const thrown: unknown = await work.then(
        () => undefined,
        (error: unknown) => error,
      );
      if (!(thrown instanceof ApiException)) throw new Error('it did not fail', { cause: thrown });
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library hands on what it read
      const body = thrown.body as V1Status | string;
      return [thrown.code, (typeof body === 'string' ? (JSON.parse(body) as V1Status) : body).reason];
    };
    const body = { metadata: { name: 'a', resourceVersion: '1' } };
    await core.createNamespacedConfigMap({ ...where, body: { metadata: { name: 'a' } } });
    expect(await failure(core.readNamespacedConfigMap({ ...where, name: 'none' }))).toEqual([
      404,
      'NotFound',
    ]);
    expect(
      await failure(core.createNamespacedConfigMap({ ...where, body: { metadata: { name: 'a' } } })),
    ).toEqual([409, 'AlreadyExists']);
    expect(await failure(core.replaceNamespacedConfigMap({ ...where, name: 'a', body }))).toEqual([
      409,
      'Conflict',
    ]);
    expect(
      await failure(core.createNamespacedConfigMap({ ...where, body: { metadata: { name: 'A_' } } })),
    ).toEqual([422, 'Invalid']);
    expect(await failure(core.listNamespacedConfigMap({ ...where, labelSelector: 'a==b==c' }))).toEqual([
      400,
      'BadRequest',
    ]);
  });

  test('patches in every way', async () => {
    const apps = config.makeApiClient(AppsV1Api);
    const where = { namespace: await namespace(), name: 'web' };
    const containers = [{ name: 'main', image: 'web:1' }];
    await apps.createNamespacedDeployment({
      ...where,
      body: {
        metadata: { name: 'web' },
        spec: {
          selector: { matchLabels: { app: 'web' } },
          template: { metadata: { labels: { app: 'web' } }, spec: { containers } },
        },
      },
    });
    const patch = (type: PatchStrategy, body: object, more: object = {}) =>
      apps.patchNamespacedDeployment({ ...where, ...more, body }, setHeaderOptions('Content-Type', type));
    await patch(PatchStrategy.JsonPatch, [{ op: 'replace', path: '/spec/replicas', value: 2 }]);
    await patch(PatchStrategy.MergePatch, { metadata: { labels: { merged: 'yes' } } });
    const side = { name: 'side', image: 'side:1' };
    await patch(PatchStrategy.StrategicMergePatch, { spec: { template: { spec: { containers: [side] } } } });
    const applied = await patch(
      PatchStrategy.ServerSideApply,
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { minReadySeconds: 7 } },
      { fieldManager: 'tests', force: true },
    );
    expect(applied.metadata?.labels).toEqual({ merged: 'yes' });
    expect(applied.spec).toMatchObject({ replicas: 2, minReadySeconds: 7 });
    expect(applied.spec?.template.spec?.containers.map(({ name }) => name)).toEqual(['side', 'main']);
    const scale = await apps.readNamespacedDeploymentScale(where);
    expect(scale.spec?.replicas).toBe(2);
  });

  test('finds paths of objects by discovery', async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    const metadata = { name: 'found', namespace: await namespace() };
    const header = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    await objects.create<V1ConfigMap>({ ...header, data: { v: '1' } });
    await objects.patch<V1ConfigMap>(
      { ...header, data: { w: '2' } },
      undefined,
      undefined,
      undefined,
      undefined,
      PatchStrategy.MergePatch,
    );
    expect((await objects.read<V1ConfigMap>(header)).data).toEqual({ v: '1', w: '2' });
    await objects.delete(header);
    await expect(objects.read(header)).rejects.toMatchObject({ code: 404 });
  });
});

/** Events and cache of the informer: names with their values. */
interface Followed extends AsyncDisposable {
  readonly received: string[];
  readonly connects: () => number;
  readonly has: () => Readonly<Record<string, string | undefined>>;
}

interface Following {
  readonly plane: Plane;
  readonly relay: () => Relay;
  readonly follow: (namespace: string) => Promise<Followed>;
}

/** For the tests of a `describe`: a server, and informers that reach it by a way that can be cut. */
function useInformers(flags: readonly string[] = []): Following {
  const plane = usePlane('kubernetes', flags);
  let relay: Relay;
  let config: KubeConfig;

  beforeAll(async () => {
    relay = await startRelay(() => new URL(plane.server.url));
    const text = await readFile(plane.server.platconfigFile, 'utf8');
    config = new KubeConfig();
    config.loadFromString(text.replaceAll(plane.server.url, relay.url));
  });
  afterAll(() => relay[Symbol.asyncDispose]());

  /** Follows the ConfigMaps of a namespace as the library's documentation says: started anew after every error. */
  async function follow(namespace: string): Promise<Followed> {
    const core = config.makeApiClient(CoreV1Api);
    const received: string[] = [];
    let connects = 0;
    let ended = false;
    const informer = new ListWatch<V1ConfigMap>(
      `/api/v1/namespaces/${namespace}/configmaps`,
      new Watch(config),
      () => core.listNamespacedConfigMap({ namespace }),
      false,
      undefined,
      undefined,
      { delayFn: () => Promise.resolve() },
    );
    for (const verb of ['add', 'update', 'delete'] as const) {
      informer.on(verb, ({ metadata, data }) =>
        received.push(`${verb} ${metadata?.name} ${data?.['value']}`),
      );
    }
    informer.on('connect', () => {
      connects += 1;
    });
    informer.on('error', () => {
      if (!ended) setTimeout(() => void informer.start(), 20);
    });
    await informer.start();
    return {
      received,
      connects: () => connects,
      has: () =>
        Object.fromEntries(
          informer.list().map(({ metadata, data }) => [metadata?.name ?? '', data?.['value']] as const),
        ),
      async [Symbol.asyncDispose]() {
        ended = true;
        await informer.stop();
      },
    };
  }

  return { plane, relay: () => relay, follow };
}

const until = (what: string, check: () => boolean): Promise<unknown> => eventually(check, { what });

describe('an informer', () => {
  const { plane, relay, follow } = useInformers();

  test('reports everything once, in order', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a', '1'));
    await using informer = await follow(path.split('/')[4] ?? '');
    await plane.patch(`${path}/a`, { data: { value: '2' } });
    await plane.post(path, configMap('b', '1'));
    await plane.delete(`${path}/a`);
    await until('the deletion came', () => informer.received.length >= 4);
    expect(informer.received).toEqual(['add a 1', 'update a 2', 'add b 1', 'delete a 2']);
    expect(informer.has()).toEqual({ b: '1' });
  });

  test('misses and repeats nothing when its connection is cut again and again', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await using informer = await follow(path.split('/')[4] ?? '');
    for (let round = 0; round < 20; round += 1) {
      await plane.post(path, configMap(`m-${round}`, '1'));
      await plane.patch(`${path}/m-${round}`, { data: { value: '2' } });
      if (round % 4 === 3) relay().cut();
    }
    await plane.post(path, configMap('last', '2'));
    await until('the last one came', () => 'last' in informer.has());
    const rounds = Array.from({ length: 20 }, (_, round) => `m-${round}`);
    expect(informer.received).toEqual([
      ...rounds.flatMap((name) => [`add ${name} 1`, `update ${name} 2`]),
      'add last 2',
    ]);
    expect(informer.connects()).toBeGreaterThan(1);
  });

  test('goes on after the server was restarted', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('before', '1'));
    await using informer = await follow(path.split('/')[4] ?? '');
    await plane.server.restart();
    await plane.post(path, configMap('after', '1'));
    await until('what came after the restart', () => 'after' in informer.has());
    expect(informer.received).toEqual(['add before 1', 'add after 1']);
  });
});

describe('an informer of a server that retains little history', () => {
  const { plane, relay, follow } = useInformers(['--compaction-interval=1500ms']);

  test('relists when the missed events are no longer retained', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('gone', '1'));
    await plane.post(path, configMap('stays', '1'));
    const revision = await plane.revision();
    await using informer = await follow(path.split('/')[4] ?? '');
    relay().close();
    await plane.delete(`${path}/gone`);
    await plane.patch(`${path}/stays`, { data: { value: '2' } });
    await eventually(
      async () => {
        // History is retained by time: it is compacted only when further changes occur.
        await plane.patch(`${path}/stays`, { metadata: { labels: { at: String(performance.now() | 0) } } });
        const watched = await plane.get(`${path}?watch=1&resourceVersion=${revision}&timeoutSeconds=1`);
        return watched.text.includes('"reason":"Expired"');
      },
      { what: 'the old version is gone', intervalMs: 100 },
    );
    relay().open();
    await until('it has the new state', () => informer.has()['stays'] === '2' && !('gone' in informer.has()));
    expect(informer.received).toContain('delete gone 1');
  });
});
