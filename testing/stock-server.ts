/** Requirements of upstream's API server: its program, built if it does not exist, its certificates and
 *  its flags. */
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { createAuthority, type Identity, issueIdentity } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';

const SCRIPT = join(import.meta.dirname, '..', 'scripts', 'stock-programs.sh');
const DAY_MS = 86_400_000;

/** Returns the directory of upstream's programs. Building them takes a quarter of an hour. @throws Error
 *  if that fails */
export async function upstreamPrograms(): Promise<string> {
  const build = spawn('sh', [SCRIPT], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = await Promise.all([readAll(build.stdout), once(build, 'close')]);
  if (build.exitCode !== 0) throw new Error(`scripts/stock-programs.sh exited with ${build.exitCode}`);
  return output.trim();
}

export interface UpstreamIdentities {
  readonly authority: Identity;
  readonly admin: Identity;
  /** Issues credentials of another user of the server. */
  readonly issue: (commonName: string, organizations: readonly string[]) => Identity;
}

/** Writes the files that `upstreamServerFlags` names into the directory. */
export async function writeUpstreamFiles(dir: string): Promise<UpstreamIdentities> {
  const [from, until] = [new Date(Date.now() - DAY_MS), new Date(Date.now() + DAY_MS)];
  const authority = createAuthority({ commonName: 'stock' }, from, until);
  const issue: UpstreamIdentities['issue'] = (commonName, organizations) =>
    issueIdentity(authority, {
      subject: { commonName, organizations },
      extendedUsages: ['clientAuth', 'serverAuth'],
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
      notBefore: from,
      notAfter: until,
    });
  const server = issue('server', []);
  const accounts = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  await Promise.all([
    writeFile(`${dir}/ca.crt`, authority.certificate),
    writeFile(`${dir}/server.crt`, server.certificate),
    writeFile(`${dir}/server.key`, server.key),
    writeFile(`${dir}/accounts.key`, accounts.export({ type: 'pkcs1', format: 'pem' })),
  ]);
  return { authority, admin: issue('admin', ['system:masters']), issue };
}

export interface UpstreamServerPlace {
  readonly dir: string;
  readonly port: number;
  readonly etcd: string;
}

/** Returns the flags common to all such servers. */
export const upstreamServerFlags = ({ dir, port, etcd }: UpstreamServerPlace): readonly string[] => [
  `--etcd-servers=${etcd}`,
  '--bind-address=127.0.0.1',
  `--secure-port=${port}`,
  // Belongs to no machine: the server requires an address that is not loopback.
  '--advertise-address=192.0.2.1',
  `--cert-dir=${dir}`,
  `--tls-cert-file=${dir}/server.crt`,
  `--tls-private-key-file=${dir}/server.key`,
  `--client-ca-file=${dir}/ca.crt`,
  `--service-account-issuer=https://${VOCABULARIES.kubernetes.apiService}.default.svc`,
  `--service-account-key-file=${dir}/accounts.key`,
  `--service-account-signing-key-file=${dir}/accounts.key`,
  '--service-cluster-ip-range=10.0.0.0/24',
  '--shutdown-delay-duration=0s',
];

/** Checks that the server can write an object with labels as JSON. A program built with a library older than
 *  its Go panics there, and comparisons with such a server are meaningless.
 *  @throws Error with instructions to build it again */
export async function checkUpstreamServer(
  call: (method: 'GET' | 'POST', path: string, body?: string) => Promise<{ readonly status: number }>,
): Promise<void> {
  const path = '/api/v1/namespaces/default/configmaps';
  const metadata = { name: 'labelled', labels: { a: 'b', c: 'd' } };
  const posted = await call('POST', path, JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }));
  const read = await call('GET', `${path}/labelled`);
  if (posted.status === 201 && read.status === 200) return;
  throw new Error(
    `upstream's API server cannot write an object with labels (POST ${posted.status}, GET ${read.status}): ` +
      'remove its programs and run scripts/stock-programs.sh again',
  );
}
