/** A private dockerd with its own data, sockets and cgroups; in its own network namespace by default. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, readFile, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { createDockerClient, type DockerClient } from '#agent/runtime/docker/client/docker-client.ts';
import { openEngine } from '#agent/runtime/docker/client/engine.ts';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { buildLocalImages } from '#agent/runtime/managed/images.ts';
import { bridgeName } from '#agent/runtime/managed/network.ts';
import { listProcesses } from '#agent/runtime/managed/process.ts';
import { removeBridge, unmountUnder } from '#agent/runtime/managed/purge.ts';
import { hasCode } from '#api/kit/errno.ts';
import { createTempDir } from './temp.ts';
import { eventually } from './wait.ts';

export interface TestDockerd extends AsyncDisposable {
  /** Path of docker's socket. */
  readonly socketPath: string;
  /** Directory of all its files; a test may add some. */
  readonly folder: string;
  readonly client: DockerClient;
  /** Path of its network namespace. */
  readonly networkNamespace: () => string;
  /** Ends it, with `SIGKILL` unless given; resolves when it has exited. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same directories. */
  startAgain(): Promise<void>;
  /** Removes its containers, processes, cgroups, mounts and directories. */
  purge(): Promise<void>;
}

export interface TestDockerdOptions {
  /** Whether containers survive a restart of the daemon; default false. */
  readonly liveRestore?: boolean;
  /** `private`: its own namespace with docker's bridge, the default. `machine`: that of the machine, without a bridge and
   *  without packet rules; pods on the network of the node then share it with the agent. */
  readonly network?: 'private' | 'machine';
}

const START_MS = 30_000;

const cgroupOf = (folder: string): string => `/na-test-${basename(folder)}`;

/** Keeps a network namespace alive across restarts of the daemon. */
async function holdNamespace(): Promise<ChildProcess> {
  const script = 'ip link set lo up && echo ready && exec sleep infinity';
  const holder = spawn('unshare', ['--net', 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  return holder;
}

/** Name of the bridge for plugins on the network of the machine; the purge removes it. */
export const dockerdBridge = (folder: string): string => bridgeName(basename(folder));

const NETWORK_FLAGS = {
  private: ['--bip=10.251.0.1/24'],
  machine: [
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
    '--ip-masq=false',
    '--ip-forward=false',
  ],
} as const;

async function launch(
  folder: string,
  namespace: string,
  { liveRestore = false, network = 'private' }: TestDockerdOptions,
): Promise<ChildProcess> {
  await using log = await open(`${folder}/dockerd.log`, 'a');
  const options = [
    `--data-root=${folder}/data`,
    `--exec-root=${folder}/exec`,
    `--pidfile=${folder}/dockerd.pid`,
    `--host=unix://${folder}/docker.sock`,
    `--cgroup-parent=${cgroupOf(folder)}`,
    ...NETWORK_FLAGS[network],
    ...(liveRestore ? ['--live-restore'] : []),
  ];
  const [program, args] =
    network === 'private' ? ['nsenter', [`--net=${namespace}`, 'dockerd', ...options]] : ['dockerd', options];
  const child = spawn(program, args, { stdio: ['ignore', log.fd, log.fd] });
  await once(child, 'spawn');
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** Kills all processes that were started with a path in the directory: the daemon, its containerd, its shims; and
 *  removes their containers' processes with them. */
async function killAll(folder: string): Promise<void> {
  const remaining = async (): Promise<readonly number[]> => {
    const processes = await listProcesses();
    return processes
      .filter(({ pid, args }) => pid !== process.pid && args.some((arg) => arg.includes(`${folder}/`)))
      .map(({ pid }) => pid);
  };
  await eventually(
    async () => {
      const pids = [...(await remaining()), ...(await cgroupProcesses(folder))];
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch (thrown) {
          if (!hasCode(thrown, 'ESRCH')) throw thrown;
        }
      }
      return pids.length === 0;
    },
    { what: `processes of ${folder} have ended`, timeoutMs: START_MS },
  );
}

/** Processes of containers: their shims may have been killed first. */
async function cgroupProcesses(folder: string): Promise<readonly number[]> {
  const marker = `${cgroupOf(folder)}/`;
  const found: number[] = [];
  for (const { pid } of await listProcesses()) {
    const text = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    if (text.includes(marker)) found.push(pid);
  }
  return found;
}

/** Removes what a dockerd in this directory left, running or not. */
export async function removeDockerd(folder: string): Promise<void> {
  await killAll(folder);
  await unmountUnder([folder]);
  await removeCgroupTree(cgroupOf(folder));
  await removeBridge(dockerdBridge(folder));
}

export const hadDockerd = (folder: string): boolean => existsSync(`${folder}/dockerd.log`);

/** Starts it with `local/pause:1` and `local/busybox:1` loaded. */
export async function startTestDockerd(options: TestDockerdOptions = {}): Promise<TestDockerd> {
  const { path: folder } = await createTempDir();
  const socketPath = `${folder}/docker.sock`;
  const client = createDockerClient(openEngine(socketPath));
  const holder = await holdNamespace();
  const networkNamespace = (): string => `/proc/${holder.pid ?? 0}/ns/net`;
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    child = await launch(folder, networkNamespace(), options);
    await eventually(() => client.info(), { what: `dockerd in ${folder} responds`, timeoutMs: START_MS });
  }

  async function purge(): Promise<void> {
    client.close();
    if (child !== undefined) await end(child, 'SIGKILL');
    await removeDockerd(folder);
    await end(holder, 'SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  try {
    await start();
    for (const { tar } of await buildLocalImages()) await client.loadImage(tar);
  } catch (thrown) {
    await purge();
    throw thrown;
  }
  return {
    socketPath,
    folder,
    client,
    networkNamespace,
    async stop(signal = 'SIGKILL') {
      if (child !== undefined) await end(child, signal);
    },
    startAgain: start,
    purge,
    [Symbol.asyncDispose]: purge,
  };
}
