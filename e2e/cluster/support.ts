/** Fixture of a small cluster on one machine: the API server as a separate process, and nodes that joined by
 *  token, each with its own containerd and network. */
import { writeFile } from 'node:fs/promises';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { unmountUnder } from '#agent/runtime/managed/purge.ts';
import type { Node, Pod } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { TestAgent } from '../../testing/agent.ts';
import { runCli } from '../../testing/cli.ts';
import { startTestContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { freePort } from '../../testing/free-port.ts';
import { startTestNetwork, type TestMachine, type TestNetwork } from '../../testing/network.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { type Program, runProgram, startProgram } from '../plane-clients/program/program.ts';

/** A short grace period of nodes, though long enough for a busy machine, and short-lived certificates. */
const SERVER_FLAGS = [
  '--vocabulary=kubernetes',
  '--controllers=*',
  '--enable-bootstrap-token-auth',
  '--cluster-signing-duration=60s',
  '--node-monitor-grace-period=16s',
];

const WORDS = VOCABULARIES.kubernetes;

/** Each node sends a heartbeat every two seconds. */
const AGENT_CONFIG = JSON.stringify({
  apiVersion: `${WORDS.configApiGroup}/v1beta1`,
  kind: WORDS.configKind,
  nodeLeaseDurationSeconds: 8,
});

export interface ClusterNode {
  readonly name: string;
  readonly machine: TestMachine;
  readonly agent: TestAgent;
  readonly containerd: TestContainerd;
  readonly cri: CriConnection;
}

export interface Cluster extends AsyncDisposable {
  readonly server: () => Program;
  readonly configFile: string;
  readonly nodes: readonly ClusterNode[];
  /** Kills the node with all its processes, like a power loss. */
  kill(node: ClusterNode): Promise<void>;
  /** Kills the API server. */
  killServer(): Promise<void>;
  /** Starts it again on its folder. */
  startServer(): Promise<void>;
  /** Returns the pods of a label from the server. */
  pods(label: string): Promise<readonly Pod[]>;
}

async function join(
  server: Program,
  serverDir: string,
  machine: TestMachine,
  agent: TestAgent,
): Promise<void> {
  const made = await eventually(async () => {
    const { code, stdout } = await runProgram(['token', 'create', '--data-dir', serverDir]);
    return code === 0 ? stdout : undefined;
  });
  const [, token = '', hash = ''] = /--token (\S+) --ca-cert-hash (\S+)/.exec(made) ?? [];
  const files = [
    `--platconfig=${agent.folder}/platconfig`,
    `--bootstrap-kubeconfig=${agent.folder}/bootstrap-platconfig`,
    `--cert-dir=${agent.folder}/pki`,
  ];
  const name = agent.folder.replace(/.*-/, '').toLowerCase();
  const own = [`--hostname-override=${name}`, '--vocabulary=kubernetes', ...files];
  const words = ['join', server.url, '--token', token, '--ca-cert-hash', hash, ...own];
  const { code, err } = await machine.on(() => runCli(agent, words));
  if (code !== 0) throw new Error(`join ended with ${code}: ${err}`);
}

/** Reports whether the node is ready and schedulable: its taint is removed a moment later. */
async function isReady(server: Program, name: string): Promise<boolean> {
  const { status, text } = await server.call('GET', `/api/v1/nodes/${name}`);
  if (status !== 200) return false;
  const node = JSON.parse(text) as Node;
  const isUp = node.status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  return isUp === true && (node.spec?.taints ?? []).length === 0;
}

async function startRuntime(network: TestNetwork, started: AsyncDisposableStack): Promise<NodeRuntime> {
  const machine = await network.addMachine();
  const containerd = await machine.whileOn(() => startTestContainerd());
  started.defer(() => machine.whileOn(() => containerd.purge()));
  return { machine, containerd };
}

interface NodeRuntime {
  readonly machine: TestMachine;
  readonly containerd: TestContainerd;
}

async function startNode(
  server: Program,
  dir: TempDir,
  { machine, containerd }: NodeRuntime,
  started: AsyncDisposableStack,
  cgroups: string[],
): Promise<ClusterNode> {
  const folder = started.use(await createTempDir('na-node-'));
  // The volumes of pods that were never stopped.
  started.defer(() => unmountUnder([folder.path]));
  const name = folder.path.replace(/.*-/, '').toLowerCase();
  await writeFile(`${folder.path}/config.yaml`, AGENT_CONFIG);
  const agent = await TestAgent.create({
    endpoint: containerd.endpoint,
    folder,
    start: false,
    flags: [
      `--hostname-override=${name}`,
      '--vocabulary=kubernetes',
      `--config=${folder.path}/config.yaml`,
      `--platconfig=${folder.path}/platconfig`,
      `--bootstrap-kubeconfig=${folder.path}/bootstrap-platconfig`,
      `--cert-dir=${folder.path}/pki`,
      '--rotate-certificates',
      '--rotate-server-certificates',
      '--enable-server',
      '--read-only-port=0',
      `--client-ca-file=${dir.path}/pki/ca.crt`,
      '--anonymous-auth=false',
      '--authentication-token-webhook',
      '--authorization-mode=Webhook',
    ],
  });
  cgroups.push(agent.cgroup);
  started.defer(() => agent.stop('SIGKILL').then(() => undefined));
  await join(server, dir.path, machine, agent);
  await machine
    .on(() => agent.start())
    .catch(async (cause: unknown) => {
      throw new Error(`the agent did not start:\n${await agent.log()}`, { cause });
    });
  await eventually(() => isReady(server, name), { timeoutMs: 30_000, what: `node ${name} is ready` });
  const cri = connectRuntime({ endpoint: containerd.endpoint, log: silentLogger });
  started.defer(() => cri.close());
  return { name, machine, agent, containerd, cri };
}

/** @param flags further flags of the server */
export async function startCluster(size: number, flags: readonly string[] = []): Promise<Cluster> {
  await using started = new AsyncDisposableStack();
  const network = started.use(await startTestNetwork());
  const dir = started.use(await createTempDir('na-plane-'));
  const place = [`--bind-address=${network.address}`, `--secure-port=${await freePort()}`];
  const start = (): Promise<Program> => startProgram(dir.path, [...SERVER_FLAGS, ...flags, ...place]);
  const cgroups: string[] = [];
  // After the runtimes and the processes of their pods are gone.
  started.defer(async () => void (await Promise.all(cgroups.map((path) => removeCgroupTree(path)))));
  const runtimes: NodeRuntime[] = [];
  while (runtimes.length < size) runtimes.push(await startRuntime(network, started));
  let server = await start();
  started.defer(() => server[Symbol.asyncDispose]());
  const nodes = await Promise.all(
    runtimes.map((runtime) => startNode(server, dir, runtime, started, cgroups)),
  );
  const all = started.move();
  return {
    server: () => server,
    configFile: `${dir.path}/admin.platconfig`,
    nodes,
    async kill({ agent, cri, machine, containerd }) {
      await agent.stop('SIGKILL');
      cri.close();
      await machine.whileOn(() => containerd.purge());
    },
    async killServer() {
      server.signal('SIGKILL');
      await server.ended;
      await server[Symbol.asyncDispose]();
    },
    async startServer() {
      server = await start();
    },
    async pods(label) {
      const path = `/api/v1/namespaces/default/pods?labelSelector=${encodeURIComponent(label)}`;
      const { body } = await server.call('GET', path);
      return body.items;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
