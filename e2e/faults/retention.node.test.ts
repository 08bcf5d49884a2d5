/** Memory retained by an agent for deleted pods: only their events, which are bounded. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import { type FakeCri, startFakeCri } from '#cri/fake/fake-cri.ts';
import { startTestPlane, type TestPlane } from '#plane/main.fixture.ts';
import { TestAgent } from '../../testing/agent.ts';
import { type Held, retainedStrings } from '../../testing/heap-snapshot.ts';
import { testProgram } from '../../testing/programs.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const IMAGE = 'local/app:1';
const PODS = '/api/v1/namespaces/default/pods';
const COUNT = 24;
/** Each takes about a second. */
const LOOKS = 5;

/** Members that are allowed to know of pods that are gone. Events are retained for the local API, for repeats and until they are sent, all within bounds of their own; cgroups
 *  that were given up until all are looked at next. */
const BOUNDED = ['stored', 'groupOf', 'bucketOf', 'unsent', 'onServer', '#removing'];

/** Uses most features of an agent; every fifth pod runs to completion. */
function podOf(name: string, index: number): object {
  const container = { image: IMAGE, imagePullPolicy: 'Never' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeName: 'n1',
      terminationGracePeriodSeconds: 1,
      restartPolicy: index % 5 === 0 ? 'Never' : 'Always',
      containers: [
        {
          ...container,
          name: 'a',
          env: [{ name: 'E', valueFrom: { configMapKeyRef: { name: 'shared', key: 'k' } } }],
          resources: { requests: { cpu: '1m' }, limits: { memory: '8Mi' } },
          readinessProbe: { periodSeconds: 1, exec: { command: ['ready'] } },
          livenessProbe: { periodSeconds: 1, exec: { command: ['alive'] } },
          lifecycle: { preStop: { exec: { command: ['bye'] } } },
          volumeMounts: [
            { name: 'scratch', mountPath: '/s', subPath: 'sub' },
            { name: 'config', mountPath: '/c' },
            { name: 'token', mountPath: '/t' },
          ],
        },
        { ...container, name: 'b' },
      ],
      volumes: [
        { name: 'scratch', emptyDir: {} },
        { name: 'config', configMap: { name: 'shared' } },
        { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ],
    },
  };
}

async function podsOf(plane: TestPlane): Promise<readonly Pod[]> {
  const { text } = await plane.get(PODS);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the server says
  return (JSON.parse(text) as { readonly items: readonly Pod[] }).items;
}

/** @returns the UIDs that they had */
async function comeAndGo(plane: TestPlane, fake: FakeCri, names: readonly string[]): Promise<string[]> {
  await Promise.all(names.map((name, index) => plane.post(PODS, podOf(name, index))));
  const made = await podsOf(plane);
  expect(made).toHaveLength(names.length);
  const pods = (): Promise<readonly Pod[]> => podsOf(plane);
  await eventually(async () => (await pods()).every(({ status }) => status?.phase === 'Running'), {
    timeoutMs: 60_000,
    what: 'the pods run',
  });
  const containers = fake.pods.containers().filter(({ state }) => state === 'CONTAINER_RUNNING');
  for (const [index, { id }] of containers.entries()) if (index % 4 === 0) fake.pods.exitContainer(id);
  await Promise.all(names.map((name) => plane.call('DELETE', `${PODS}/${name}`, { body: {} })));
  await eventually(async () => (await pods()).length === 0, { timeoutMs: 60_000, what: 'the pods are gone' });
  return made.map(({ metadata }) => metadata?.uid ?? '');
}

async function takeSnapshot(agent: TestAgent, dir: string): Promise<string> {
  const before = await readdir(dir);
  process.kill(agent.pid, 'SIGUSR2');
  const name = await eventually(async () => (await readdir(dir)).find((one) => !before.includes(one)), {
    what: 'the snapshot is begun',
  });
  // The process does nothing else while it writes.
  await eventually(async () => (await agent.get('/healthz')) === 'ok', { timeoutMs: 60_000 });
  return join(dir, name);
}

test('nothing of a pod is retained when it is gone', { timeout: 180_000 }, async () => {
  await using folder = await createTempDir('na-agent-');
  const heapDir = join(folder.path, 'heap');
  await mkdir(heapDir);
  const tokens = join(folder.path, 'tokens');
  await writeFile(tokens, 't,system:node:n1,,"system:nodes"\n');
  await using plane = await startTestPlane([`--token-auth-file=${tokens}`]);
  await using fake = await startFakeCri({ socketPath: join(folder.path, 'f.sock') });
  fake.images.add({ reference: IMAGE });
  const platconfig = join(folder.path, 'platconfig');
  const tls = { authority: plane.credentials().ca, insecure: false };
  await writeFile(platconfig, formatPlatconfig({ server: plane.url, tls }, { token: 't' }));
  await using agent = await TestAgent.create({
    endpoint: fake.endpoint,
    folder,
    program: [
      '--heapsnapshot-signal=SIGUSR2',
      `--diagnostic-dir=${heapDir}`,
      testProgram('agent-process', 'testing/agent-process.ts'),
    ],
    flags: [
      `--platconfig=${platconfig}`,
      `--cert-dir=${folder.path}/pki`,
      '--plat-api-qps=500',
      '--plat-api-burst=1000',
      '--event-qps=0',
    ],
  });
  const shared = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shared' }, data: { k: 'v' } };
  await plane.post('/api/v1/namespaces/default/configmaps', shared);
  await eventually(async () => (await plane.get('/api/v1/nodes/n1')).status === 200, { timeoutMs: 30_000 });
  const names = Array.from({ length: COUNT }, (_, index) => `gone-${index}`);
  const uids = await comeAndGo(plane, fake, names);
  const pattern = new RegExp(`gone-\\d+|${uids.join('|')}`);
  expect(await retainedStrings(await takeSnapshot(agent, heapDir), pattern)).not.toEqual([]);
  // The last object may be retained somewhere; retention of every pod is a leak. Work in flight is awaited.
  let leaks: readonly Held[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    const held = await retainedStrings(await takeSnapshot(agent, heapDir), pattern, BOUNDED);
    leaks = held.filter(({ count }) => count >= COUNT / 8);
    if (leaks.length === 0) break;
  }
  expect(leaks).toEqual([]);
});
