/** Starts one dockerd and one `nodeagent cri-docker` per run for the tests of project `docker`, which are tests of
 *  project `node`: `inject('criEndpoint')` is the socket of the latter. Pods have the network of plugins, as those
 *  on containerd. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { chooseSubnet, parseRoutes, renderConflist } from '#agent/runtime/managed/network.ts';
import { findRuntimePrograms } from '#agent/runtime/managed/programs.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { removeAbandonedCgroups, removeAbandonedFolders } from './abandoned.ts';
import { dockerdBridge, startTestDockerd, type TestDockerd } from './dockerd.ts';
import { prepareTestPrograms } from './prepare-programs.ts';
import { compiledBeside, PROGRAMS_VARIABLE, testProgram } from './programs.ts';

const START_MS = 60_000;

async function writeNetwork({ folder }: TestDockerd): Promise<string> {
  const confDir = join(folder, 'net.d');
  await mkdir(confDir, { recursive: true });
  const name = basename(folder);
  const bridge = dockerdBridge(folder);
  const subnets = [chooseSubnet(name, bridge, parseRoutes(await readFile('/proc/net/route', 'utf8')))];
  const network = {
    name,
    bridge,
    subnets,
    hairpinMode: 'promiscuous-bridge',
    leaseDir: join(folder, 'leases'),
  } as const;
  await writeFile(join(confDir, '10-pods.conflist'), renderConflist(network));
  return confDir;
}

async function serve(dockerd: TestDockerd, socket: string): Promise<ChildProcess> {
  const { folder } = dockerd;
  const programs = process.env[PROGRAMS_VARIABLE] ?? folder;
  const { cniBinDir } = await findRuntimePrograms();
  const args = [
    testProgram('nodeagent', 'agent/bin.ts'),
    'cri-docker',
    `--socket=${socket}`,
    `--root-dir=${join(folder, 'cri-root')}`,
    `--docker-endpoint=unix://${dockerd.socketPath}`,
    '--pod-infra-container-image=local/pause:1',
    '--network-plugin=cni',
    `--cni-bin-dir=${cniBinDir}`,
    `--cni-conf-dir=${await writeNetwork(dockerd)}`,
    `--cni-cache-dir=${join(folder, 'cni-cache')}`,
  ];
  await using log = await open(join(folder, 'cri-docker.log'), 'a');
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', log.fd, log.fd],
    env: { ...process.env, NODE_COMPILE_CACHE: compiledBeside(programs) },
  });
  await once(child, 'spawn');
  return child;
}

/** @throws Error with the server's log */
async function untilServing(folder: string, endpoint: string): Promise<void> {
  const connection = connectRuntime({ endpoint, log: silentLogger });
  try {
    await connection.whenConnected(AbortSignal.timeout(START_MS));
  } catch (cause) {
    const log = await readFile(join(folder, 'cri-docker.log'), 'utf8');
    throw new Error(`cri-docker does not respond; its log:\n${log}`, { cause });
  } finally {
    connection.close();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.getuid?.() !== 0) {
    throw new Error(
      'the docker tests run real containers and need root: run `npm test` as root or with sudo',
    );
  }
  const { errors } = await removeAbandonedFolders();
  for (const { message } of errors) console.warn(message);
  await removeAbandonedCgroups();
  const dockerd = await startTestDockerd({ network: 'machine' });
  try {
    // Those of project `node` serve both.
    if (process.env[PROGRAMS_VARIABLE] === undefined) await prepareTestPrograms(dockerd.folder);
    const socket = join(dockerd.folder, 'cri.sock');
    const child = await serve(dockerd, socket);
    await untilServing(dockerd.folder, `unix://${socket}`);
    project.provide('criEndpoint', `unix://${socket}`);
    return async () => {
      await end(child);
      await dockerd.purge();
    };
  } catch (thrown) {
    await dockerd.purge();
    throw thrown;
  }
}
