/** Upstream's API server on an etcd, under the same load: what the field has, on this machine in this run. Its program
 *  is built from Debian's sources if it is not there yet, which takes a while. */
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { createAuthority, type Identity, issueIdentity } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startEtcd } from '#plane/store/testing/etcd.ts';
import { freePort } from '../../testing/free-port.ts';
import { type StockProcess, startStock } from '../../testing/stock-process.ts';
import { createTempDir } from '../../testing/temp.ts';
import { residentMiB } from '../process.ts';
import { type HttpClient, openClient, requestBytes, type Target } from './http-client.ts';
import { createLoad } from './load.ts';
import { CLIENTS, type PlaneBench } from './setup.ts';

const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'stock-programs.sh');
const DAY_MS = 86_400_000;

async function programFolder(): Promise<string> {
  const build = spawn('sh', [SCRIPT], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = await Promise.all([readAll(build.stdout), once(build, 'close')]);
  if (build.exitCode !== 0) throw new Error("upstream's API server could not be built");
  return said.trim();
}

/** Files of the server. @returns what clients connect with */
async function writeFiles(dir: string, port: number): Promise<Target> {
  const [from, until] = [new Date(Date.now() - DAY_MS), new Date(Date.now() + DAY_MS)];
  const authority = createAuthority({ commonName: 'upstream' }, from, until);
  const issue = (commonName: string, organizations: readonly string[]): Identity =>
    issueIdentity(authority, {
      subject: { commonName, organizations },
      extendedUsages: ['clientAuth', 'serverAuth'],
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
      notBefore: from,
      notAfter: until,
    });
  const server = issue('server', []);
  const admin = issue('admin', ['system:masters']);
  const accounts = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  await Promise.all([
    writeFile(`${dir}/ca.crt`, authority.certificate),
    writeFile(`${dir}/server.crt`, server.certificate),
    writeFile(`${dir}/server.key`, server.key),
    writeFile(`${dir}/accounts.key`, accounts.export({ type: 'pkcs1', format: 'pem' })),
  ]);
  return { port, ca: authority.certificate, cert: admin.certificate, key: admin.key };
}

const flags = (dir: string, port: number, etcd: string): readonly string[] => [
  `--etcd-servers=${etcd}`,
  '--bind-address=127.0.0.1',
  `--secure-port=${port}`,
  // Of no machine: it insists on one that is not loopback.
  '--advertise-address=192.0.2.1',
  `--cert-dir=${dir}`,
  `--tls-cert-file=${dir}/server.crt`,
  `--tls-private-key-file=${dir}/server.key`,
  `--client-ca-file=${dir}/ca.crt`,
  '--authorization-mode=RBAC',
  // As ours is measured: pods need no account.
  '--disable-admission-plugins=ServiceAccount',
  `--service-account-issuer=https://${VOCABULARIES.kubernetes.apiService}.default.svc`,
  `--service-account-key-file=${dir}/accounts.key`,
  `--service-account-signing-key-file=${dir}/accounts.key`,
  '--service-cluster-ip-range=10.0.0.0/24',
  '--shutdown-delay-duration=0s',
];

/** Connects and asks; a server that does not listen yet is not ready. */
async function isReady(target: Target): Promise<boolean> {
  let client: HttpClient | undefined;
  try {
    client = await openClient(target);
    return (await client.send(requestBytes('GET', '/readyz'))).status === 200;
  } catch {
    return false;
  } finally {
    client?.close();
  }
}

function startServer(folder: string, dir: string, etcd: string, target: Target): Promise<StockProcess> {
  return startStock({
    program: `${folder}/kube-apiserver`,
    args: flags(dir, target.port, etcd),
    logFile: `${dir}/log`,
    isReady: () => isReady(target),
  });
}

/** Everything started; disposing of the stack ends and removes it. */
export async function setUpUpstream(
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<PlaneBench> {
  const folder = await programFolder();
  const { path: dir } = stack.use(await createTempDir('na-bench-u-'));
  const etcd = stack.use(await startEtcd());
  const target = await writeFiles(dir, await freePort());
  say("starting upstream's API server");
  const startMs = performance.now();
  const server = stack.use(await startServer(folder, dir, etcd.urls.join(), target));
  const startedS = (performance.now() - startMs) / 1000;
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => openClient(target)));
  stack.defer(() => clients.forEach((client) => client.close()));
  return {
    store: 'etcd',
    clients,
    startedS,
    load: createLoad({ clients, target, say }),
    memory: async () => ({
      serverMiB: await residentMiB(server.pid()),
      etcdMiB: await residentMiB(etcd.members[0]?.pid ?? 0),
    }),
  };
}
