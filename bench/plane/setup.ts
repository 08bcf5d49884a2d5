/** What the rows of the API server run on: the bundled server as it is shipped, on an empty store, with keep-alive
 *  connections over TLS. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { startEtcd } from '#plane/store/testing/etcd.ts';
import { API_ALONE } from '#plane/testing/test-plane.ts';
import { bundle, PLANE_ENTRIES } from '../../scripts/bundle.ts';
import { createTempDir } from '../../testing/temp.ts';
import { residentMiB } from '../process.ts';
import { type HttpClient, openClient, requestBytes, type Target } from './http-client.ts';
import { createLoad, type Load } from './load.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const CLIENTS = 32;
const START_MS = 20_000;

export type StoreKind = 'embedded' | 'etcd';

export interface PlaneBench {
  readonly clients: readonly HttpClient[];
  readonly load: Load;
  /** From the start of the process to its first answer, in s. */
  readonly startedS: number;
  /** What the server and its etcd hold now. */
  readonly memory: () => Promise<{ readonly serverMiB: number; readonly etcdMiB: number | undefined }>;
}

/** What the shipped script gives to Node and its C library. */
export function launcherSettings(script: string): {
  readonly nodeFlags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
} {
  const command = /^exec "\$node" (.*)$/m.exec(script)?.[1] ?? '';
  const nodeFlags = command.split(' ').filter((word) => word.startsWith('--'));
  const settings = [...script.matchAll(/^(MALLOC_[A-Z_]+)=\$\{[A-Z_]+:-(\S+)\}$/gm)];
  return {
    nodeFlags,
    environment: Object.fromEntries(settings.map(([, name = '', value = '']) => [name, value])),
  };
}

/** Everything started; disposing of the stack ends and removes it. */
export async function setUpPlane(
  kind: StoreKind,
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<PlaneBench> {
  const folder = stack.use(await createTempDir('na-bench-p-'));
  const program = join(folder.path, 'program');
  say(`bundling the API server (${kind})`);
  await bundle(program, PLANE_ENTRIES);
  const etcd = kind === 'etcd' ? stack.use(await startEtcd()) : undefined;
  const launcher = launcherSettings(await readFile(join(REPOSITORY, 'bin/control-plane-lite'), 'utf8'));
  const dataDir = join(folder.path, 'data');
  const args = [
    ...launcher.nodeFlags,
    join(program, 'control-plane-lite.js'),
    `--data-dir=${dataDir}`,
    '--secure-port=0',
    '--bind-address=127.0.0.1',
    ...API_ALONE,
    ...(etcd === undefined ? [] : [`--etcd-servers=${etcd.urls.join()}`]),
  ];
  const startMs = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...launcher.environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  stack.defer(() => end(child));
  await served(child);
  const target = await targetOf(join(dataDir, 'admin.platconfig'));
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => openClient(target)));
  stack.defer(() => clients.forEach((client) => client.close()));
  await ready(clients);
  const startedS = (performance.now() - startMs) / 1000;
  const etcdPid = etcd?.members[0]?.pid;
  return {
    clients,
    startedS,
    load: createLoad({ clients, target, say }),
    memory: async () => ({
      serverMiB: await residentMiB(child.pid ?? 0),
      etcdMiB: etcdPid === undefined ? undefined : await residentMiB(etcdPid),
    }),
  };
}

/** The server says on its output when it serves. @throws Error if it ends instead */
async function served({ stdout }: ChildProcess): Promise<void> {
  if (stdout === null) throw new Error('the server has no output');
  for await (const line of createInterface({ input: stdout })) if (line.includes(' serves ')) return;
  throw new Error('the server ended before it served');
}

async function ready([client]: readonly HttpClient[]): Promise<void> {
  const untilMs = performance.now() + START_MS;
  while (performance.now() < untilMs) {
    if ((await client?.send(requestBytes('GET', '/readyz')))?.status === 200) return;
  }
  throw new Error(`the server was not ready within ${START_MS / 1000} s`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Text of the first member of that name in the file, which is JSON made by the server. */
function textIn(file: string, name: string): string {
  const text = new RegExp(`"${name}": ?"([^"]*)"`).exec(file)?.[1];
  if (text === undefined) throw new Error(`the administrator's file has no ${name}`);
  return text;
}

async function targetOf(path: string): Promise<Target> {
  const file = await readFile(path, 'utf8');
  const pem = (name: string): string => Buffer.from(textIn(file, name), 'base64').toString();
  return {
    port: Number(new URL(textIn(file, 'server')).port),
    ca: pem('certificate-authority-data'),
    cert: pem('client-certificate-data'),
    key: pem('client-key-data'),
  };
}
