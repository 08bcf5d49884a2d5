/** A small cluster: nodes that joined by token, a Deployment over all of them that is updated, a node that
 *  loses power, an API server that is killed, certificates that expire meanwhile. No pod is lost or
 *  duplicated, by the count of the runtimes. */
import { readlink, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { criKeys } from '#agent/pod-identity/labels.ts';
import type { Deployment } from '#api/gen/apps-v1.ts';
import type { DaemonEndpoint, Node } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { type Cluster, type ClusterNode, startCluster } from './support.ts';

const WORDS = VOCABULARIES.kubernetes;
const NODES = 3;
const REPLICAS = 12;
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const LABEL = 'app=web';

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
        tolerations: ['not-ready', 'unreachable'].map((key) => ({
          key: `node.${WORDS.domain}/${key}`,
          operator: 'Exists' as const,
          effect: 'NoExecute' as const,
          tolerationSeconds: 1,
        })),
        containers: [
          sh('main', `mkdir /w; echo "version $VERSION" | tee /w/index.html; httpd -p 8080 -h /w; ${WAIT}`, {
            env: [{ name: 'VERSION', value: version }],
          }),
        ],
      },
    },
  },
});

describe('a cluster of three nodes', { timeout: 120_000 }, () => {
  let cluster: Cluster;
  const { ok, start, dir } = useKubectl(() => cluster.configFile);
  let certificates: readonly string[] = [];
  beforeAll(async () => {
    cluster = await startCluster(NODES);
    certificates = await Promise.all(cluster.nodes.map(certificateOf));
  }, 240_000);
  afterAll(() => cluster[Symbol.asyncDispose](), 120_000);

  const certificateOf = ({ agent }: ClusterNode): Promise<string> =>
    readlink(`${agent.folder}/pki/nodeagent-client-current.pem`);
  const alive = (): readonly ClusterNode[] =>
    cluster.nodes.filter(({ agent }) => agent.pid > 0 && !gone.has(agent.pid));
  const gone = new Set<number>();

  /** Names of the pods whose container runs, according to the runtimes. */
  async function running(): Promise<readonly string[]> {
    const lists = await Promise.all(
      alive().map(({ cri }) =>
        cri.runtime.listContainers({ filter: { state: { state: 'CONTAINER_RUNNING' } } }),
      ),
    );
    return lists
      .flatMap(({ containers }) => containers.map(({ labels }) => labels[criKeys(WORDS).podName] ?? ''))
      .toSorted();
  }

  /** Waits until the server has all replicas of a version ready, and the runtimes run just these. */
  async function settled(version: string): Promise<void> {
    await eventually(
      async () => {
        const pods = (await cluster.pods(LABEL)).filter(
          ({ metadata }) => metadata?.deletionTimestamp === undefined,
        );
        const wanted = pods.filter(
          (pod) => isReady(pod) && pod.spec?.containers[0]?.env?.[0]?.value === version,
        );
        const names = wanted.map(({ metadata }) => metadata?.name ?? '').toSorted();
        const run = await running();
        if (pods.length === REPLICAS && names.length === REPLICAS && names.join() === run.join()) return true;
        // The cause that is reported on timeout.
        const [odd] = pods.filter((pod) => !wanted.includes(pod));
        const state = { all: pods.length, ready: names.length, running: run.length, odd: odd?.status };
        throw new Error(JSON.stringify(state));
      },
      { timeoutMs: 60_000, intervalMs: 200, what: `${REPLICAS} pods of version ${version} run` },
    );
  }

  test('each has an address of its own, and all serve on the same port', async () => {
    const { body } = await cluster.server().call('GET', '/api/v1/nodes');
    const { items } = body as unknown as { readonly items: readonly Node[] };
    const places = items.map(({ metadata, status }) => ({
      name: metadata?.name,
      address: status?.addresses?.find(({ type }) => type === 'InternalIP')?.address,
      ports: Object.values<DaemonEndpoint>({ ...status?.daemonEndpoints }).map(({ Port }) => Port),
    }));
    const wanted = cluster.nodes.map(({ name, machine: { address } }) => ({
      name,
      address,
      ports: [10_250],
    }));
    expect(places).toEqual(expect.arrayContaining(wanted));
    expect(new Set(wanted.map(({ address }) => address)).size).toBe(NODES);
  });

  test('a Deployment spreads over all of them', async () => {
    expect(await cluster.server().call('POST', DEPLOYMENTS, deployment('1'))).toMatchObject({ status: 201 });
    await settled('1');
    const counts = new Map<string, number>();
    for (const { spec } of await cluster.pods(LABEL)) {
      counts.set(spec?.nodeName ?? '', (counts.get(spec?.nodeName ?? '') ?? 0) + 1);
    }
    expect([...counts.values()]).toEqual([4, 4, 4]);
  });

  test('the stock client reaches every container', async () => {
    const [pod] = await cluster.pods(LABEL);
    const name = pod?.metadata?.name ?? '';
    // A container runs for a moment before its first output.
    await eventually(async () => (await ok(['logs', name])) === 'version 1', { what: 'its log' });
    expect(await ok(['exec', name, '--', 'cat', '/w/index.html'])).toBe('version 1');
    await writeFile(`${dir()}/file`, 'copied');
    await ok(['cp', `${dir()}/file`, `${name}:/w/file`]);
    expect(await ok(['exec', name, '--', 'cat', '/w/file'])).toBe('copied');
    await using forward = start(['port-forward', name, ':8080']);
    const [, port = ''] = /127\.0\.0\.1:(\d+)/.exec(await forward.line()) ?? [];
    expect(await (await fetch(`http://127.0.0.1:${port}/file`)).text()).toBe('copied');
  });

  test('shows what its nodes and pods use', async () => {
    const NODE_ROW = /^\w+ +\d+m +\d+% +\d+Mi +\d+%/;
    const rows = async (command: string): Promise<readonly string[]> =>
      (await ok(command)).split('\n').slice(1);
    const measured = await eventually(async () => {
      const nodes = (await rows('top nodes')).filter((row) => NODE_ROW.test(row));
      return nodes.length === NODES && (await rows(`top pods -l ${LABEL} --containers`));
    });
    expect(measured).toHaveLength(REPLICAS);
  });

  test('is updated without a gap', async () => {
    const least: number[] = [];
    const changed = await cluster.server().call('PUT', `${DEPLOYMENTS}/web`, deployment('2'));
    expect(changed).toMatchObject({ status: 200 });
    const rollout = ok(['rollout', 'status', 'deployment/web', '--timeout=60s'], { timeoutMs: 70_000 });
    const watching = setInterval(() => {
      void cluster
        .pods(LABEL)
        .then((pods) => least.push(pods.filter(isReady).length))
        .catch(() => undefined);
    }, 100);
    try {
      expect(await rollout).toMatch(/successfully rolled out/);
    } finally {
      clearInterval(watching);
    }
    await settled('2');
    expect(Math.min(...least)).toBeGreaterThanOrEqual(REPLICAS * 0.75);
  });

  test('an API server that is killed and comes back finds all as it was', async () => {
    const before = await running();
    await cluster.killServer();
    expect(await running()).toEqual(before);
    await cluster.startServer();
    await settled('2');
    expect(await running()).toEqual(before);
  });

  test('the pods of a node that loses power are created again elsewhere', async () => {
    const [node] = cluster.nodes;
    if (node === undefined) throw new Error('there is no node');
    gone.add(node.agent.pid);
    await cluster.kill(node);
    await settled('2');
    const places = (await cluster.pods(LABEL))
      .filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
      .map(({ spec }) => spec?.nodeName);
    expect(places).not.toContain(node.name);
  });

  test('certificates were renewed meanwhile', async () => {
    const left = alive();
    const before = certificates.slice(1);
    const renewed = async (): Promise<number> => {
      const files = await Promise.all(left.map(certificateOf));
      return files.filter((file, index) => file !== before[index]).length;
    };
    await expect.poll(renewed, { timeout: 60_000, interval: 500 }).toBe(left.length);
    await settled('2');
  });
});
