/** Node registration with a real API server: creation, adoption, lease, status updates, and behavior while
 *  the server is unavailable. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, createApiClient } from '#agent/api-client/client.ts';
import { loadClientConfig } from '#agent/api-client/credentials/load.ts';
import { createServerContact } from '#agent/api-client/server-contact.ts';
import { createDefaultConfig } from '#agent/config/default-config.ts';
import type { AgentConfig } from '#agent/config/gen/config.ts';
import { createApiEventSink } from '#agent/events/api-sink.ts';
import { createEventRecorder } from '#agent/events/recorder.ts';
import { MACHINE } from '#agent/machine/machine.fixture.ts';
import { createNodeEventSink } from '#agent/registration/node-events.ts';
import type { NodeEvent } from '#agent/registration/node-status.ts';
import {
  createNodeRegistration,
  type NodeRegistration,
  type NodeRegistrationDeps,
} from '#agent/registration/registration.ts';
import type { RuntimeReport } from '#agent/registration/runtime-state.ts';
import { registrationSettings } from '#agent/registration/settings.ts';
import type { Lease } from '#api/gen/coordination-v1.ts';
import type { Event, Node } from '#api/gen/core-v1.ts';
import { systemClock } from '#api/kit/clock.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import { startTestPlane, type TestPlane } from '#plane/main.fixture.ts';
import { freePort } from '../../testing/free-port.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startTestPlane([`--secure-port=${await freePort()}`]);
});
afterAll(() => plane[Symbol.asyncDispose]());

/** Of a node, by its token. */
async function createNodeConfig(file: string): Promise<string> {
  const cluster = {
    server: plane.url,
    'certificate-authority-data': Buffer.from(plane.credentials().ca).toString('base64'),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [{ name: 'x', cluster }],
    users: [{ name: 'x', user: { token: 'node-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
  };
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

async function connect(file = plane.platconfigFile): Promise<ApiClient> {
  const { config } = await loadClientConfig(file);
  const io = { env: {}, hasTerminal: false, passOn: () => undefined };
  return createApiClient({ clock: systemClock, log: silentLogger, ...io }, config, { userAgent: 'test' });
}

interface RunningNode extends AsyncDisposable {
  readonly registration: NodeRegistration;
  readonly events: readonly NodeEvent[];
  /** Logged warnings and errors, and messages on the return of the server. */
  readonly logged: readonly string[];
  /** Patches sent. */
  readonly patches: readonly unknown[];
  runtime: RuntimeReport;
}

const READY: RuntimeReport = {
  name: 'containerd',
  version: '1.6.20',
  conditions: ['RuntimeReady', 'NetworkReady'].map((type) => ({
    type,
    status: true,
    reason: '',
    message: '',
  })),
};
const NO_NETWORK: RuntimeReport = {
  ...READY,
  conditions: [
    { type: 'RuntimeReady', status: true, reason: '', message: '' },
    { type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady', message: 'no plugin' },
  ],
};

/** Runs until it is disposed of. */
async function runNode(
  nodeName: string,
  config: Partial<AgentConfig> = {},
  deps: Partial<NodeRegistrationDeps> = {},
  file = plane.platconfigFile,
): Promise<RunningNode> {
  const [api, heartbeat] = await Promise.all([connect(file), connect(file)]);
  const events: NodeEvent[] = [];
  const logged: string[] = [];
  const patches: unknown[] = [];
  const note = (_: object, message: string): void => void logged.push(message);
  const log: Logger = { ...silentLogger, error: note, warn: note, info: note, child: () => log };
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  const node: RunningNode = {
    events,
    logged,
    patches,
    runtime: READY,
    registration: createNodeRegistration(
      {
        api,
        heartbeat: {
          ...heartbeat,
          patch: (address, patch, signal) => {
            patches.push(patch.content);
            return heartbeat.patch(address, patch, signal);
          },
        },
        contact: createServerContact({ clock: systemClock, log }),
        clock: systemClock,
        log,
        readMachine: () => Promise.resolve(MACHINE),
        readRuntime: () => Promise.resolve(node.runtime),
        event: (event) => events.push(event),
        ...deps,
      },
      registrationSettings({ ...createDefaultConfig(), ...config }, { nodeName, agentVersion: 'v0.0.1' }),
    ),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await Promise.all([api[Symbol.asyncDispose](), heartbeat[Symbol.asyncDispose]()]);
    },
  };
  running = node.registration.run(stop.signal);
  return node;
}

const getLease = async (name: string): Promise<Lease | undefined> => {
  const response = await plane.get(leasePath(name));
  return response.status === 200 ? (response.json as Lease) : undefined;
};
const getNode = async (name: string): Promise<Node> =>
  (await plane.get(`/api/v1/nodes/${name}`)).json as Node;
const conditionOf = (node: Node | undefined, type: string) =>
  node?.status?.conditions?.find((condition) => condition.type === type);
const { plat } = VOCABULARIES;
const leasePath = (name: string): string =>
  `/apis/coordination.${plat.apiGroupDomain}/v1/namespaces/${plat.nodeLeaseNamespace}/leases/${name}`;
/** Waits until the status of the node has been reported, and checked again without a change. */
const settled = (node: RunningNode, name: string): Promise<Node> =>
  eventually(async () => {
    const seen = await getNode(name);
    return conditionOf(seen, 'Ready') !== undefined && node.registration.node() !== undefined && seen;
  });

describe('a node', () => {
  test('registers with all that it is', async () => {
    await using node = await runNode('n1', {
      nodeLabels: { rack: 'r1' },
      registerWithTaints: [{ key: 'dedicated', value: 'batch', effect: 'NoSchedule' }],
      nodeIP: '10.0.0.5,2001:db8::5',
    });
    const seen = await settled(node, 'n1');
    expect(seen.metadata?.labels).toEqual({
      [`${plat.domain}/arch`]: 'amd64',
      [`${plat.domain}/os`]: 'linux',
      [`beta.${plat.domain}/arch`]: 'amd64',
      [`beta.${plat.domain}/os`]: 'linux',
      [plat.labelHostname]: 'n1',
      rack: 'r1',
    });
    expect(seen.spec?.taints).toContainEqual({ key: 'dedicated', value: 'batch', effect: 'NoSchedule' });
    expect(seen.status).toMatchObject({
      addresses: [
        { type: 'InternalIP', address: '10.0.0.5' },
        { type: 'InternalIP', address: '2001:db8::5' },
        { type: 'Hostname', address: 'n1' },
      ],
      capacity: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi', 'hugepages-2Mi': '0' },
      allocatable: { cpu: '4', memory: '8092Mi', pods: '110', 'ephemeral-storage': '90Gi' },
      daemonEndpoints: { [plat.nodeAgentEndpointMember]: { Port: 10250 } },
      nodeInfo: {
        machineID: 'machine-1',
        containerRuntimeVersion: 'containerd://1.6.20',
        [plat.nodeAgentVersionMember]: 'v0.0.1',
      },
    });
    expect(conditionOf(seen, 'Ready')).toMatchObject({ status: 'True', reason: 'NodeAgentReady' });
    // Resolves at the server's response; its watch may have been faster.
    await eventually(() => node.events.length > 1);
    expect(node.events.map(({ reason }) => reason)).toEqual([
      'Starting',
      'NodeHasSufficientMemory',
      'NodeHasNoDiskPressure',
      'NodeHasSufficientPID',
    ]);
  });

  test('is found again by an agent that starts anew, which leaves alone what others wrote', async () => {
    const first = await runNode('n2', { nodeLabels: { mine: '1' } });
    await settled(first, 'n2');
    await first[Symbol.asyncDispose]();
    await plane.call('PATCH', '/api/v1/nodes/n2', {
      contentType: 'application/merge-patch+json',
      body: {
        metadata: {
          labels: { theirs: 'kept', [plat.labelHostname]: 'wrong' },
          annotations: { note: 'kept' },
        },
        spec: { unschedulable: true, taints: [{ key: 'theirs', effect: 'NoExecute' }] },
      },
    });
    const uid = (await getNode('n2')).metadata?.uid;
    const readMachine = () => Promise.resolve({ ...MACHINE, bootID: 'boot-2', cores: 8, hugePages: [] });
    await using second = await runNode('n2', {}, { readMachine });
    const seen = await eventually(async () => {
      const found = await getNode('n2');
      return found.status?.capacity?.['cpu'] === '8' && found;
    });
    expect(seen.metadata).toMatchObject({
      uid,
      labels: { theirs: 'kept', mine: '1', [plat.labelHostname]: 'n2' },
      annotations: { note: 'kept' },
    });
    expect(seen.spec?.unschedulable).toBe(true);
    expect(seen.spec?.taints).toContainEqual({ key: 'theirs', effect: 'NoExecute' });
    expect(seen.status?.capacity).not.toHaveProperty('hugepages-2Mi');
    const reboots = () => second.events.filter(({ reason }) => reason === 'Rebooted');
    await eventually(() => reboots().length > 0);
    expect(reboots()).toHaveLength(1);
    expect(second.logged).toContain('Node already registered');
  });

  test('waits for a node that it shall not register', async () => {
    await using node = await runNode('n3', { registerNode: false });
    await plane.post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n3' } });
    const seen = await eventually(async () => {
      const found = await getNode('n3');
      return conditionOf(found, 'Ready') !== undefined && found;
    });
    expect(seen.status?.capacity?.['cpu']).toBe('4');
    expect(node.logged).not.toContain('Node registered');
  });

  test('renews its lease, which belongs to it', async () => {
    await using node = await runNode('n4', { nodeLeaseDurationSeconds: 1 });
    const seen = await settled(node, 'n4');
    const first = await eventually(() => getLease('n4'));
    expect(first).toMatchObject({
      metadata: {
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n4', uid: seen.metadata?.uid }],
      },
      spec: { holderIdentity: 'n4', leaseDurationSeconds: 1 },
    });
    const renewed = first.spec?.renewTime ?? '';
    await eventually(async () => ((await getLease('n4'))?.spec?.renewTime ?? '') > renewed);
    // A deleted lease is created again.
    await plane.call('DELETE', leasePath('n4'));
    await eventually(() => getLease('n4'));
  });

  test('reports at once when its runtime is no longer ready, and sends only changes', async () => {
    await using node = await runNode('n5');
    await settled(node, 'n5');
    node.runtime = NO_NETWORK;
    node.registration.runtimeChanged();
    const seen = await eventually(async () => {
      const found = await getNode('n5');
      return conditionOf(found, 'Ready')?.status === 'False' && found;
    });
    expect(conditionOf(seen, 'Ready')?.message).toBe(
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no plugin',
    );
    const patch = node.patches.at(-1) as { status: { conditions: object[] } };
    expect(Object.keys(patch)).toEqual(['status']);
    expect(Object.keys(patch.status)).toEqual(['conditions']);
    expect(patch.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False' }),
    );
    await eventually(() => node.events.at(-1)?.reason === 'NodeNotReady');
    node.runtime = READY;
    node.registration.runtimeChanged();
    await eventually(async () => conditionOf(await getNode('n5'), 'Ready')?.status === 'True');
  });

  test('sends nothing while nothing changes, and reverts changes by others', async () => {
    await using node = await runNode('n6', { nodeStatusUpdateFrequency: 20 });
    await settled(node, 'n6');
    let looks = 0;
    await using watched = await runNode(
      'n6',
      { nodeStatusUpdateFrequency: 20 },
      { troubles: () => (looks++, []) },
    );
    await eventually(() => looks > 20);
    // One when it takes the node over, one as its first report: each only if a second has passed meanwhile.
    expect(watched.patches.length).toBeLessThanOrEqual(2);
    await plane.call('PATCH', '/api/v1/nodes/n6/status', {
      contentType: 'application/strategic-merge-patch+json',
      body: { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } },
    });
    await eventually(async () => conditionOf(await getNode('n6'), 'Ready')?.status === 'True');
  });

  test('survives the loss of the server, logs it once, and reports its status when it is back', async () => {
    await using node = await runNode('n7', { nodeStatusUpdateFrequency: 50, nodeLeaseDurationSeconds: 1 });
    await settled(node, 'n7');
    const messages = ['API server unavailable; pods keep running', 'API server available again'];
    const logged = () => node.logged.filter((message) => messages.includes(message));
    await plane.stop();
    await eventually(() => logged().length === 1);
    node.runtime = NO_NETWORK;
    node.registration.runtimeChanged();
    expect(node.registration.node()?.metadata?.name).toBe('n7');
    await plane.restart();
    await eventually(() => logged().length === 2);
    expect(logged()).toEqual(messages);
  });
});

test('events of a node come to the server, repeats as a count', async () => {
  await using client = await connect();
  const parts = { clock: systemClock, log: silentLogger };
  const recorder = createEventRecorder({ ...parts, node: 'n9', vocabulary: plat });
  const contact = createServerContact(parts);
  const sink = createApiEventSink({ ...parts, client, contact }, { qps: 50, burst: 10 });
  recorder.onEvent(sink.take);
  const stop = new AbortController();
  const running = sink.run(stop.signal);
  const event = createNodeEventSink(recorder, 'n9');
  const list = async (): Promise<readonly Event[]> => {
    const selector = encodeURIComponent('involvedObject.kind=Node,involvedObject.name=n9');
    const response = await plane.get(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
    return (response.json as { items: readonly Event[] }).items;
  };
  event({ type: 'Warning', reason: 'Rebooted', message: 'once' });
  await eventually(async () => (await list()).length === 1);
  event({ type: 'Warning', reason: 'Rebooted', message: 'once' });
  const [seen] = await eventually(async () => {
    const events = await list();
    return events[0]?.count === 2 && events;
  });
  expect(seen).toMatchObject({
    reason: 'Rebooted',
    type: 'Warning',
    source: { component: plat.agentComponent, host: 'n9' },
    involvedObject: { kind: 'Node', name: 'n9', uid: 'n9' },
  });
  stop.abort();
  await running;
});

test('a node does all of it with no more rights than a node has', async () => {
  const own = plane;
  await using dir = await createTempDir('na-nodes-');
  await writeFile(`${dir.path}/tokens.csv`, 'node-token,system:node:n10,10,"system:nodes"\n');
  plane = await startTestPlane([
    '--authorization-mode=Node,RBAC',
    '--token-auth-file',
    `${dir.path}/tokens.csv`,
  ]);
  try {
    const config = await createNodeConfig(`${dir.path}/config`);
    const first = await runNode('n10', { nodeLeaseDurationSeconds: 1 }, {}, config);
    await settled(first, 'n10');
    await eventually(() => getLease('n10'));
    await first[Symbol.asyncDispose]();
    await plane.call('PATCH', '/api/v1/nodes/n10', {
      contentType: 'application/merge-patch+json',
      body: { metadata: { labels: { [plat.labelHostname]: 'wrong' } } },
    });
    await using second = await runNode('n10', {}, {}, config);
    await eventually(async () => (await getNode('n10')).metadata?.labels?.[plat.labelHostname] === 'n10');
    second.runtime = NO_NETWORK;
    second.registration.runtimeChanged();
    await eventually(async () => conditionOf(await getNode('n10'), 'Ready')?.status === 'False');
    expect([...first.logged, ...second.logged]).not.toContain('API server rejected request');
  } finally {
    await plane[Symbol.asyncDispose]();
    plane = own;
  }
});

test.each<VocabularyName>(['kubernetes'])('a node uses the %s vocabulary', async (name) => {
  const own = plane;
  const words = VOCABULARIES[name];
  plane = await startTestPlane(['--vocabulary', name]);
  try {
    await using node = await runNode('n8', { vocabulary: name });
    const seen = await settled(node, 'n8');
    expect(seen.status?.nodeInfo).toHaveProperty(words.nodeAgentVersionMember, 'v0.0.1');
    expect(seen.status?.daemonEndpoints).toHaveProperty(words.nodeAgentEndpointMember, { Port: 10250 });
    expect(conditionOf(seen, 'Ready')?.reason).toBe(`${words.agentReasonPrefix}Ready`);
    expect(seen.metadata?.labels).toHaveProperty([words.labelHostname], 'n8');
  } finally {
    await plane[Symbol.asyncDispose]();
    plane = own;
  }
});
