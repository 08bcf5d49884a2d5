/** Upstream's node agent with our API server: it joins by a token, runs pods of our controllers and our
 *  scheduler, and logs no error about a response. */
import { readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deployment } from '#api/gen/apps-v1.ts';
import type { Node, Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { freePort } from '../../testing/free-port.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { pod as manifest, sh, WAIT } from '../lifecycle/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { type Program, startProgram } from '../plane-clients/program/program.ts';
import { requestsOf, startUpstreamNode, type UpstreamNode } from './stock-node.ts';

const WORDS = VOCABULARIES.kubernetes;
const NS = 'stock-pods';
const PATH = `/api/v1/namespaces/${NS}`;
const REPLICAS = 3;
const LEASES = `/apis/coordination.${WORDS.apiGroupDomain}/v1/namespaces/${WORDS.nodeLeaseNamespace}/leases`;

const deployment = (version: string): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: REPLICAS,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        volumes: [
          { name: 'conf', configMap: { name: 'conf' } },
          { name: 'key', secret: { secretName: 'key' } },
        ],
        containers: [
          sh('c', `mkdir /w; echo "version $VERSION" | tee /w/index.html; httpd -p 8080 -h /w; ${WAIT}`, {
            env: [{ name: 'VERSION', value: version }],
            envFrom: [{ configMapRef: { name: 'conf' } }],
            volumeMounts: [
              { name: 'conf', mountPath: '/conf' },
              { name: 'key', mountPath: '/key' },
            ],
            readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
            resources: { requests: { cpu: '50m', memory: '16Mi' } },
          }),
        ],
      },
    },
  },
});

describe('a stock node with our API server', () => {
  let dir: TempDir;
  let server: Program;
  let node: UpstreamNode;
  let port: number;
  const { ok, run, start } = useKubectl(() => `${dir.path}/admin.platconfig`);
  const startServer = (): Promise<Program> =>
    startProgram(dir.path, [
      '--vocabulary=kubernetes',
      '--controllers=*',
      '--enable-bootstrap-token-auth',
      // It signs its own serving certificate.
      '--nodeagent-skip-tls-verify',
      // Stock nodes renew after 70 to 90 % of a term that began five minutes before; and their client for renewals keeps a
      // connection with its first certificate.
      '--cluster-signing-duration=150s',
      `--secure-port=${port}`,
    ]);

  async function get<T>(path: string): Promise<T> {
    const { status, text } = await server.call('GET', path);
    if (status !== 200) throw new Error(`${path}: ${text}`);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the server says is what is tested
    return JSON.parse(text) as T;
  }
  async function create(path: string, object: object): Promise<void> {
    const { status, text } = await server.call('POST', path, object);
    if (status !== 201) throw new Error(`${path}: ${text}`);
  }
  /** Pods without a deletion timestamp: a container of the others may remain for a minute, until the node
   *  collects it. */
  const pods = async (): Promise<readonly Pod[]> => {
    const { items } = await get<{ items: readonly Pod[] }>(`${PATH}/pods?labelSelector=app%3Dweb`);
    return items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
  };
  const certificate = (): Promise<string> =>
    readlink(`${node.pkiDir}/${WORDS.agentComponent}-client-current.pem`);

  /** Waits until all replicas of a version are ready and all others are being deleted; returns their names. */
  const settled = (version: string): Promise<readonly string[]> =>
    eventually(
      async () => {
        const all = await pods();
        const right = all.filter(
          (pod) => isReady(pod) && pod.spec?.containers[0]?.env?.[0]?.value === version,
        );
        if (all.length === REPLICAS && right.length === REPLICAS)
          return right.map(({ metadata }) => metadata?.name ?? '').toSorted();
        throw new Error(JSON.stringify(all.map(({ status }) => status)));
      },
      { timeoutMs: 60_000, intervalMs: 200, what: `${REPLICAS} pods of version ${version} are ready` },
    );
  const isNodeReady = async (): Promise<Node | undefined> => {
    const found = await get<Node>(`/api/v1/nodes/${node.name}`);
    const ready = found.status?.conditions?.find(({ type }) => type === 'Ready');
    return ready?.status === 'True' ? found : undefined;
  };

  const started = new AsyncDisposableStack();
  beforeAll(async () => {
    dir = started.use(await createTempDir('na-plane-'));
    port = await freePort();
    server = await startServer();
    started.defer(() => server[Symbol.asyncDispose]());
    node = started.use(await startUpstreamNode(server, { serverDir: dir.path, namespace: NS }));
    // The node stops its pods while it can.
    started.defer(async () => {
      const path = `/api/v1/namespaces/${NS}`;
      await server.call('DELETE', path);
      await eventually(async () => (await server.call('GET', path)).status === 404, {
        timeoutMs: 100_000,
        what: 'all pods are gone',
      });
    });
  });
  afterAll(() => started.disposeAsync());

  test('joins by a token, and is a node', async () => {
    const found = await eventually(isNodeReady, { timeoutMs: 30_000 });
    expect(found.status?.nodeInfo).toMatchObject({ [WORDS.nodeAgentVersionMember]: 'v1.20.2' });
    expect(await ok('get csr')).toMatch(/system:bootstrap:\S+ .*Approved,Issued/);
    expect(await ok('get csinodes')).toContain(node.name);
    expect(await ok('get nodes')).toMatch(new RegExp(`^${node.name} +Ready `, 'm'));
  });

  test('runs the pods of a Deployment', async () => {
    await create('/api/v1/namespaces', { metadata: { name: NS } });
    await create(`${PATH}/configmaps`, { metadata: { name: 'conf' }, data: { level: 'one' } });
    await create(`${PATH}/secrets`, { metadata: { name: 'key' }, stringData: { word: 'sesame' } });
    await create(`/apis/apps/v1/namespaces/${NS}/deployments`, deployment('1'));
    await settled('1');
    expect(await ok(`get deployment web -n ${NS}`)).toMatch(/web +3\/3 +3 +3/);
    const { containers } = await node.cri.runtime.listContainers({
      filter: { state: { state: 'CONTAINER_RUNNING' } },
    });
    expect(containers).toHaveLength(REPLICAS);
  });

  test('serves logs and streams through our server', async () => {
    const [name = ''] = await settled('1');
    expect(await ok(`logs -n ${NS} ${name}`)).toBe('version 1');
    expect(await ok(`exec -n ${NS} ${name} -- cat /key/word`)).toBe('sesame');
    expect((await run(['exec', '-n', NS, name, '--', 'sh', '-c', 'exit 5'])).code).toBe(5);
    const input = 'x'.repeat(100_000);
    expect(await ok(`exec -i -n ${NS} ${name} -- wc -c`, { input })).toBe('100000');
    await writeFile(`${dir.path}/file`, 'copied');
    await ok(`cp ${dir.path}/file ${NS}/${name}:/w/file`);
    expect(await ok(`exec -n ${NS} ${name} -- cat /w/file`)).toBe('copied');
    await using forward = start(`port-forward -n ${NS} ${name} :8080`);
    const [, local = ''] = /127\.0\.0\.1:(\d+)/.exec(await forward.line()) ?? [];
    expect(await (await fetch(`http://127.0.0.1:${local}/`)).text()).toBe('version 1\n');
    expect(await ok(['get', '--raw', `/api/v1/nodes/${node.name}/proxy/healthz`])).toBe('ok');
  });

  test('follows ConfigMaps, and gets tokens that our server accepts', async () => {
    const [name = ''] = await settled('1');
    const inside = (script: string): Promise<string> =>
      ok(['exec', '-n', NS, name, '--', 'sh', '-c', script]);
    expect(await inside('echo $level; cat /conf/level')).toBe('one\none');
    await ok(['patch', '-n', NS, 'configmap', 'conf', '-p', '{"data":{"level":"two"}}']);
    await expect.poll(() => inside('cat /conf/level'), { timeout: 60_000, interval: 500 }).toBe('two');
    const token = await inside(`cat /var/run/secrets/${WORDS.domain}/serviceaccount/token`);
    const review = await server.call('POST', `/apis/authentication.${WORDS.apiGroupDomain}/v1/tokenreviews`, {
      spec: { token },
    });
    expect(JSON.parse(review.text)).toMatchObject({
      status: { authenticated: true, user: { username: `system:serviceaccount:${NS}:default` } },
    });
  });

  test('follows a rolling update', async () => {
    const path = `/apis/apps/v1/namespaces/${NS}/deployments/web`;
    const changed = await server.call('PUT', path, deployment('2'));
    expect(changed.status).toBe(200);
    await settled('2');
    expect(await ok(`rollout status -n ${NS} deployment/web --timeout=10s`)).toMatch(/successfully/);
  });

  test('runs a Job to its end', async () => {
    await ok(`create job -n ${NS} once --image=local/busybox:1 -- sh -c exit`);
    const done = await ok(`wait -n ${NS} --for=condition=complete job/once --timeout=15s`);
    expect(done).toContain('condition met');
  });

  test('mounts a volume that our binder gave to a claim, in a runtime class', async () => {
    const terms = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
    const size = { storage: '1Gi' };
    await create(`/apis/node.${WORDS.apiGroupDomain}/v1/runtimeclasses`, {
      metadata: { name: 'plain' },
      handler: 'runc',
    });
    await create('/api/v1/persistentvolumes', {
      metadata: { name: 'vol' },
      spec: { ...terms, capacity: size, hostPath: { path: `${dir.path}/vol`, type: 'DirectoryOrCreate' } },
    });
    await create(`${PATH}/persistentvolumeclaims`, {
      metadata: { name: 'claim' },
      spec: { ...terms, resources: { requests: size } },
    });
    await create(`${PATH}/pods`, {
      metadata: { name: 'keeper' },
      spec: {
        runtimeClassName: 'plain',
        terminationGracePeriodSeconds: 0,
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }],
        containers: [
          sh('c', `echo kept > /v/file; ${WAIT}`, { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
        ],
      },
    });
    const text = (): Promise<string> => readFile(`${dir.path}/vol/file`, 'utf8').catch(String);
    await expect.poll(text, { timeout: 30_000, interval: 200 }).toBe('kept\n');
  });

  test('shows its static pods as mirrors', async () => {
    const file = `${node.manifestDir}/fixed.json`;
    await writeFile(
      file,
      manifest('fixed', { containers: [sh('c', `echo fixed; ${WAIT}`)] }, { namespace: NS }),
    );
    const path = `${PATH}/pods/fixed-${node.name}`;
    const mirror = await eventually(
      async () => {
        const found = await get<Pod>(path);
        return isReady(found) && found;
      },
      { timeoutMs: 30_000 },
    );
    expect(mirror.metadata?.annotations?.[WORDS.configSource]).toBe('file');
    expect(mirror.metadata?.ownerReferences?.[0]).toMatchObject({ kind: 'Node', name: node.name });
    expect(await ok(`logs -n ${NS} fixed-${node.name}`)).toBe('fixed');
    await rm(file);
    const status = async (): Promise<number> => (await server.call('GET', path)).status;
    await expect.poll(status, { timeout: 80_000, interval: 200 }).toBe(404);
  });

  test('ends a pod that is evicted, and gets another', async () => {
    const [name = ''] = await settled('2');
    const evicted = await server.call('POST', `${PATH}/pods/${name}/eviction`, { metadata: { name } });
    expect(evicted.status).toBe(201);
    expect(await settled('2')).not.toContain(name);
  });

  test('renews its lease, and emits events', async () => {
    const renewed = async (): Promise<string> =>
      (await get<{ spec: { renewTime: string } }>(`${LEASES}/${node.name}`)).spec.renewTime;
    const before = await renewed();
    await expect.poll(renewed, { timeout: 30_000, interval: 500 }).not.toBe(before);
    const events = await get<{ items: readonly { reason: string; involvedObject: { kind: string } }[] }>(
      '/api/v1/events',
    );
    const reasons = new Set(events.items.map(({ reason, involvedObject: { kind } }) => `${kind} ${reason}`));
    expect([...reasons]).toEqual(
      expect.arrayContaining([
        'Node Starting',
        'Node NodeReady',
        'Pod Scheduled',
        'Pod Started',
        'Pod Killing',
      ]),
    );
  });

  test('renews its certificate', { timeout: 150_000 }, async () => {
    const first = await certificate();
    await expect.poll(certificate, { timeout: 120_000, interval: 500 }).not.toBe(first);
    await eventually(isNodeReady);
  });

  test('logs no error about a response', async () => {
    const log = await node.process.log();
    const requests = requestsOf(log);
    expect(requests.length).toBeGreaterThan(100);
    const wrong = requests.filter(({ status }) => ![200, 201, 404, 409].includes(status));
    expect(wrong).toEqual([]);
    const withBody = requests.filter(({ type }) => type !== undefined);
    const types = new Set(withBody.map(({ type = '' }) => type.replace(/;.*/, '')));
    expect([...types]).toEqual([WORDS.protobufContentType]);
    // By the lines alone: a watch may have no response in the log yet, or other lines between its own.
    const followed = new Set(
      Array.from(log.matchAll(/ GET https:\/\/\S*\/([a-z]+)\?\S*watch=true/g), ([, kind = '']) => kind),
    );
    const kinds = ['csidrivers', 'nodes', 'pods', 'runtimeclasses', 'services', 'configmaps', 'secrets'];
    expect([...followed].toSorted()).toEqual(expect.arrayContaining(kinds));
    expect(log.split('\n').filter((line) => /reflector\.go|Failed to watch|forbidden/.test(line))).toEqual(
      [],
    );
  });

  test('registers again after its node was deleted', async () => {
    const before = await eventually(isNodeReady);
    await ok(`delete node ${node.name}`);
    await node.process.stop();
    await node.process.start();
    const after = await eventually(() => isNodeReady(), { timeoutMs: 60_000, intervalMs: 200 });
    expect(after.metadata?.uid).not.toBe(before.metadata?.uid);
    await settled('2');
  });

  test('goes on when our server was killed and is back', async () => {
    const before = await settled('2');
    server.signal('SIGKILL');
    await server.ended;
    await server[Symbol.asyncDispose]();
    server = await startServer();
    expect(await settled('2')).toEqual(before);
    await ok(`scale -n ${NS} deployment/web --replicas=1`);
    await eventually(async () => (await pods()).length === 1, { timeoutMs: 60_000, intervalMs: 200 });
  });
});
