/** Upstream's node agent for tests, as a node of our API server, with its own containerd and folder. It would
 *  change kernel parameters; it sees a machine that has them already. Logs of pods, which it stores outside
 *  of its folder, are removed at the end. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import { unmountUnder } from '#agent/runtime/managed/purge.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { startTestContainerd } from '../../testing/containerd.ts';
import { freePort } from '../../testing/free-port.ts';
import { startUpstream, type UpstreamProcess } from '../../testing/stock-process.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { type Program, runProgram } from '../plane-clients/program/program.ts';

const { agentComponent: PROGRAM, componentPrefix } = VOCABULARIES.kubernetes;
const run = promisify(execFile);

/** Kernel parameters that it requires. */
const PARAMETERS: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

/** Mounts the files of a folder over the kernel's parameters, for this program only. */
const DISGUISE = `set -e
mount --make-private /proc
cd "$1" && shift
find . -type f | while read -r file; do mount --bind "$file" "/proc/sys/$file"; done
cd /
exec "$@"`;

export interface UpstreamNode extends AsyncDisposable {
  readonly name: string;
  readonly process: UpstreamProcess;
  readonly cri: CriConnection;
  readonly pkiDir: string;
  /** For static pods. */
  readonly manifestDir: string;
}

export interface UpstreamNodeOptions {
  /** Folder of the server. */
  readonly serverDir: string;
  /** Of the pods that the test makes. */
  readonly namespace: string;
  /** Further flags. */
  readonly flags?: readonly string[];
}

async function bootstrapConfig(server: Program, serverDir: string): Promise<string> {
  const made = await eventually(async () => {
    const { code, stdout } = await runProgram(['token', 'create', '--data-dir', serverDir]);
    return code === 0 ? stdout : undefined;
  });
  const [, token = ''] = /--token (\S+)/.exec(made) ?? [];
  const tls = { authority: server.credentials.ca, insecure: false };
  return formatPlatconfig({ server: server.url, tls }, { token });
}

const flags = (
  folder: string,
  name: string,
  ports: readonly number[],
  authority: string,
): readonly string[] => [
  `--bootstrap-kubeconfig=${folder}/bootstrap`,
  `--kubeconfig=${folder}/config`,
  `--cert-dir=${folder}/pki`,
  `--root-dir=${folder}/root`,
  `--volume-plugin-dir=${folder}/plugins`,
  `--pod-manifest-path=${folder}/manifests`,
  `--hostname-override=${name}`,
  '--container-runtime=remote',
  `--port=${ports[0]}`,
  `--healthz-port=${ports[1]}`,
  '--read-only-port=0',
  `--client-ca-file=${authority}`,
  '--anonymous-auth=false',
  '--authentication-token-webhook',
  '--authorization-mode=Webhook',
  '--rotate-certificates',
  '--cgroups-per-qos=false',
  '--enforce-node-allocatable=',
  '--fail-swap-on=false',
  '--sync-frequency=5s',
  '--file-check-frequency=1s',
  '--protect-kernel-defaults',
  '--make-iptables-util-chains=false',
  // Plugins would have a folder that cannot be chosen.
  '--feature-gates=DevicePlugins=false',
  '--eviction-hard=memory.available<1Mi',
  '--image-gc-high-threshold=100',
  // Otherwise a deleted pod may wait a minute for the next garbage collection.
  '--maximum-dead-containers-per-container=0',
  `--${componentPrefix}-api-qps=100`,
  `--${componentPrefix}-api-burst=100`,
  // Logs every request with its response, without bodies.
  '--vmodule=round_trippers=9',
];

/** Links and folders of logs, whose paths cannot be configured. */
async function removeLogs(namespace: string): Promise<void> {
  for (const folder of ['/var/log/pods', '/var/log/containers']) {
    const names = await readdir(folder).catch(() => []);
    const own = names.filter((name) => name.includes(`_${namespace}_`) || name.startsWith(`${namespace}_`));
    await Promise.all(own.map((name) => rm(`${folder}/${name}`, { recursive: true, force: true })));
  }
}

/** Mounts in the folder are shared, whatever the propagation of the machine's own mounts. */
async function shareMounts(folder: string): Promise<void> {
  await run('mount', ['--bind', folder, folder]);
  await run('mount', ['--make-shared', folder]);
}

export async function startUpstreamNode(
  server: Program,
  options: UpstreamNodeOptions,
): Promise<UpstreamNode> {
  await using started = new AsyncDisposableStack();
  const { path: folder } = started.use(await createTempDir('na-stock-'));
  started.defer(() => removeLogs(options.namespace));
  await shareMounts(folder);
  started.defer(() => unmountUnder([folder]));
  for (const [parameter, value] of Object.entries(PARAMETERS)) {
    const file = `${folder}/sys/${parameter}`;
    await mkdir(file.slice(0, file.lastIndexOf('/')), { recursive: true });
    await writeFile(file, `${value}\n`);
  }
  const manifestDir = `${folder}/manifests`;
  await mkdir(manifestDir);
  const containerd = started.use(await startTestContainerd());
  const cri = connectRuntime({ endpoint: containerd.endpoint, log: silentLogger });
  started.defer(() => cri.close());
  await writeFile(`${folder}/bootstrap`, await bootstrapConfig(server, options.serverDir));
  const name = folder.replace(/.*-/, 'stock-').toLowerCase();
  const ports = [await freePort(), await freePort()];
  const program = [
    `${inject('upstreamPrograms')}/${PROGRAM}`,
    ...flags(folder, name, ports, `${options.serverDir}/pki/ca.crt`),
    `--container-runtime-endpoint=${containerd.endpoint}`,
    ...(options.flags ?? []),
  ];
  const stock = started.use(
    await startUpstream({
      program: 'unshare',
      args: ['--mount', '--propagation=unchanged', 'sh', '-c', DISGUISE, 'sh', `${folder}/sys`, ...program],
      logFile: `${folder}/log`,
      isReady: async () => (await fetch(`http://127.0.0.1:${ports[1]}/healthz`)).ok,
    }),
  );
  const all = started.move();
  return {
    name,
    process: stock,
    cri,
    pkiDir: `${folder}/pki`,
    manifestDir,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** A request of the node agent, according to its log. */
export interface LoggedRequest {
  readonly verb: string;
  readonly path: string;
  readonly status: number;
  /** Media type of the response. */
  readonly type: string | undefined;
}

/** Parses the requests of a log with `round_trippers=9`. Lines of concurrent requests may be interleaved, and
 *  then their types are unknown. */
export function requestsOf(log: string): readonly LoggedRequest[] {
  const pattern =
    /\] (GET|POST|PUT|PATCH|DELETE) https:\/\/[^/\s]+(\S*) (\d{3}) [^\n]*\n[^\n]*Response Headers:\n((?:[^\n]*\] {5}[^\n]*\n)*)/g;
  return [...log.matchAll(pattern)].map(([, verb = '', path = '', status = '', headers = '']) => ({
    verb,
    path,
    status: Number(status),
    type: /Content-Type: (\S+)/.exec(headers)?.[1],
  }));
}
