/** Upstream's controller manager, scheduler and service proxy with our API server, whose own controllers and
 *  scheduler are off: every version and field that they need is served, and each controller is authorized by the
 *  role of its own account. The test simulates nodes and the start of pods; the service proxy writes real rules, in
 *  a network namespace of the test. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { freePort } from '../../testing/free-port.ts';
import { startTestNetwork, type TestNetwork } from '../../testing/network.ts';
import { startUpstream, type UpstreamProcess } from '../../testing/stock-process.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { type Program, startProgram } from '../plane-clients/program/program.ts';

const run = promisify(execFile);
const NS = 'stock-controllers';
const PODS = `/api/v1/namespaces/${NS}/pods`;
const SERVICES = '10.96.0.0/16';
const NODES = ['node-a', 'node-b'];
const container = { name: 'c', image: 'local/busybox:1' };
const labels = { app: 'web' };
const template = (restartPolicy = 'Always') => ({
  metadata: { labels },
  spec: { restartPolicy, containers: [container] },
});

describe('upstream controllers, scheduler and service proxy with our API server', () => {
  let dir: TempDir;
  let server: Program;
  let network: TestNetwork;
  const programs = new Map<string, UpstreamProcess>();
  const { ok } = useKubectl(() => `${dir.path}/admin.platconfig`);
  const started = new AsyncDisposableStack();

  async function startPart(name: string, flags: readonly string[]): Promise<void> {
    const port = await freePort();
    await mkdir(`${dir.path}/${name}`);
    const part = await startUpstream({
      program: `${inject('upstreamPrograms')}/${name}`,
      args: [
        `--kubeconfig=${dir.path}/admin.platconfig`,
        ...flags.map((f) => f.replace('{port}', `${port}`)),
      ],
      logFile: `${dir.path}/${name}/log`,
      isReady: async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok,
    });
    programs.set(name, started.use(part));
  }

  async function create(path: string, object: object): Promise<void> {
    const { status, text } = await server.call('POST', path, object);
    if (status !== 201) throw new Error(`${path}: ${text}`);
  }

  const put = async (path: string, object: object): Promise<void> => {
    const { status, text } = await server.call('PUT', path, object);
    if (status !== 200 && status !== 404 && status !== 409) throw new Error(`${path}: ${text}`);
  };

  async function pods(): Promise<readonly Pod[]> {
    const { text } = await server.call('GET', PODS);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the server says is what is tested
    return (JSON.parse(text) as { readonly items: readonly Pod[] }).items;
  }

  /** Writes the status of a node that is ready now, as nodes do again and again. */
  async function heartbeat(name: string): Promise<void> {
    const capacity = { cpu: '8', memory: '8Gi', pods: '110' };
    const now = new Date().toISOString();
    const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: now, lastTransitionTime: now };
    const addresses = [{ type: 'InternalIP', address: network.address }];
    const status = { capacity, allocatable: capacity, conditions: [ready], addresses };
    const { text } = await server.call('GET', `/api/v1/nodes/${name}`);
    await put(`/api/v1/nodes/${name}/status`, { ...(JSON.parse(text) as object), status });
  }

  /** Simulates node agents: bound pods run, those of jobs succeed, deleted ones are removed. */
  async function playNodes(): Promise<readonly Pod[]> {
    for (const name of NODES) await heartbeat(name);
    for (const pod of await pods()) {
      const { name = '', deletionTimestamp, uid } = pod.metadata ?? {};
      if (deletionTimestamp !== undefined) {
        await server.call('DELETE', `${PODS}/${name}`, { gracePeriodSeconds: 0, preconditions: { uid } });
        continue;
      }
      if (pod.spec?.nodeName === undefined || (pod.status?.phase ?? 'Pending') !== 'Pending') continue;
      const ends = pod.spec.restartPolicy === 'Never';
      const conditions = [{ type: 'Ready', status: ends ? 'False' : 'True' }];
      const address = { podIP: network.address, podIPs: [{ ip: network.address }] };
      const status = { phase: ends ? 'Succeeded' : 'Running', conditions, ...address };
      await put(`${PODS}/${name}/status`, { ...pod, status });
    }
    return pods();
  }

  beforeAll(async () => {
    network = started.use(await startTestNetwork());
    await run('ip', ['route', 'add', SERVICES, 'dev', 'bridge']);
    dir = started.use(await createTempDir('na-plane-'));
    server = started.use(
      await startProgram(dir.path, [
        '--vocabulary=kubernetes',
        // A list without * and without a name: no controllers.
        '--controllers=-garbagecollector',
        '--no-scheduler',
        `--service-cluster-ip-range=${SERVICES}`,
      ]),
    );
    const pki = `${dir.path}/pki`;
    await startPart('kube-controller-manager', [
      '--port={port}',
      '--secure-port=0',
      '--leader-elect=false',
      '--controllers=*,bootstrapsigner,tokencleaner',
      '--use-service-account-credentials=true',
      `--cluster-signing-cert-file=${pki}/ca.crt`,
      `--cluster-signing-key-file=${pki}/ca.key`,
      `--root-ca-file=${pki}/server-ca.crt`,
    ]);
    await startPart('kube-scheduler', ['--port={port}', '--secure-port=0', '--leader-elect=false']);
    for (const name of NODES) {
      await create('/api/v1/nodes', { metadata: { name } });
      await heartbeat(name);
    }
    await startPart('kube-proxy', [
      '--healthz-bind-address=127.0.0.1:{port}',
      `--metrics-bind-address=127.0.0.1:${await freePort()}`,
      '--hostname-override=node-a',
      '--proxy-mode=iptables',
      '--conntrack-max-per-core=0',
      '--conntrack-tcp-timeout-established=0s',
      '--conntrack-tcp-timeout-close-wait=0s',
    ]);
    await create('/api/v1/namespaces', { metadata: { name: NS } });
    await eventually(
      async () =>
        (await server.call('GET', `/api/v1/namespaces/${NS}/serviceaccounts/default`)).status === 200,
    );
  });
  afterAll(() => started.disposeAsync());

  test('a Deployment is rolled out and bound, a StatefulSet and a DaemonSet have their pods', async () => {
    const spec = { selector: { matchLabels: labels }, template: template() };
    await create(`/apis/apps/v1/namespaces/${NS}/deployments`, {
      metadata: { name: 'web' },
      spec: { ...spec, replicas: 3 },
    });
    await create(`/apis/apps/v1/namespaces/${NS}/statefulsets`, {
      metadata: { name: 'db' },
      spec: { ...spec, replicas: 2, serviceName: 'db' },
    });
    await create(`/apis/apps/v1/namespaces/${NS}/daemonsets`, { metadata: { name: 'each' }, spec });
    await eventually(
      async () => {
        const running = (await playNodes()).filter(({ status }) => status?.phase === 'Running');
        return running.length === 3 + 2 + NODES.length;
      },
      { timeoutMs: 60_000, intervalMs: 200 },
    );
    await ok(`rollout status deploy/web -n ${NS} --timeout=15s`);
    await ok(`rollout status statefulset/db -n ${NS} --timeout=15s`);
    await ok(`rollout status daemonset/each -n ${NS} --timeout=15s`);
    const bound = (await pods()).map((pod) => pod.spec?.nodeName ?? '');
    expect(new Set(bound)).toEqual(new Set(NODES));
  });

  test('Jobs and CronJobs run to their end', async () => {
    const job = { template: template('Never') };
    await create(`/apis/batch/v1/namespaces/${NS}/jobs`, { metadata: { name: 'once' }, spec: job });
    await create(`/apis/batch/v1/namespaces/${NS}/cronjobs`, {
      metadata: { name: 'often' },
      spec: { schedule: '* * * * *', jobTemplate: { spec: job } },
    });
    await eventually(
      async () => {
        await playNodes();
        const { text } = await server.call('GET', `/apis/batch/v1/namespaces/${NS}/jobs/once`);
        return text.includes('"Complete"');
      },
      { timeoutMs: 30_000, intervalMs: 200 },
    );
    await expect
      .poll(() => ok(`get jobs -n ${NS} -o name`), { timeout: 80_000, interval: 1000 })
      .toContain('often');
  }, 120_000);

  test('a Service reaches its pods through the rules of the service proxy', async () => {
    const backend = createServer((_, response) => response.end('from the backend'));
    backend.listen(0, network.address);
    await once(backend, 'listening');
    try {
      const address = backend.address();
      const targetPort = typeof address === 'object' && address !== null ? address.port : 0;
      const service = { spec: { selector: labels, ports: [{ port: 80, targetPort }] } };
      await create(`/api/v1/namespaces/${NS}/services`, { metadata: { name: 'web' }, ...service });
      const ip = await ok(`get service web -n ${NS} -o jsonpath={.spec.clusterIP}`);
      const text = await eventually(
        async () => {
          const response = await fetch(`http://${ip}/`, { signal: AbortSignal.timeout(2000) });
          return response.text();
        },
        { timeoutMs: 20_000, intervalMs: 500 },
      );
      expect(text).toBe('from the backend');
    } finally {
      backend.closeAllConnections();
      backend.close();
    }
  });

  test('what is deleted goes with all that belongs to it, and so does the namespace', async () => {
    await ok(`delete deploy/web statefulset/db daemonset/each -n ${NS} --wait=false`);
    await ok(`delete job/once cronjob/often -n ${NS} --wait=false`);
    await eventually(async () => (await playNodes()).length === 0, { timeoutMs: 60_000, intervalMs: 200 });
    await ok(`delete namespace ${NS} --timeout=60s`, { timeoutMs: 70_000 });
    expect((await server.call('GET', `/api/v1/namespaces/${NS}`)).status).toBe(404);
  }, 120_000);

  test('none of them misses a kind or fails to read what it gets', async () => {
    const complaints =
      /could not find the requested resource|no matches for kind|panic|unable to decode|Unauthorized|Forbidden/i;
    const wrong: string[] = [];
    for (const program of programs.values()) {
      wrong.push(...(await program.log()).split('\n').filter((line) => complaints.test(line)));
    }
    expect(wrong).toEqual([]);
  });
});
