/** Upstream's API server for tests, with its own etcd, authority and folder; users, nodes and the server
 *  itself have certificates of that authority. No controllers run: tests do their work themselves. */
import { readFile, writeFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { inject } from 'vitest';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startEtcd } from '#plane/store/etcd.fixture.ts';
import { freePort } from '../../testing/free-port.ts';
import { startUpstream, type UpstreamProcess } from '../../testing/stock-process.ts';
import {
  checkUpstreamServer,
  type UpstreamServerPlace,
  upstreamServerFlags,
  writeUpstreamFiles,
} from '../../testing/stock-server.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import type { Body } from '../plane/support.ts';

const WORDS = VOCABULARIES.kubernetes;
const AGENT = WORDS.agentComponent;

export interface Reply {
  readonly status: number;
  readonly text: string;
  readonly body: Body;
}

/** One request of a node, as the server recorded it. */
export interface AuditedRequest {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly responseStatus?: { readonly code: number; readonly message?: string };
}

export interface UpstreamServer extends AsyncDisposable {
  readonly url: string;
  readonly dir: string;
  readonly authority: Identity;
  /** Client configuration of the administrator. */
  readonly configFile: string;
  readonly process: UpstreamProcess;
  call(method: string, path: string, body?: unknown, type?: string): Promise<Reply>;
  /** @throws Error unless it is created */
  create(path: string, object: object): Promise<Body>;
  /** Requests of nodes and of bootstrapping agents. */
  audited(): Promise<readonly AuditedRequest[]>;
}

/** Audit policy: only requests of nodes are recorded. */
const AUDIT_POLICY = {
  apiVersion: `audit.${WORDS.apiGroupDomain}/v1`,
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', userGroups: ['system:nodes', 'system:bootstrappers'] }, { level: 'None' }],
};

interface Files {
  readonly dir: string;
  readonly authority: Identity;
  readonly admin: Identity;
}

async function writeFiles(dir: string): Promise<Files> {
  const { authority, admin, issue } = await writeUpstreamFiles(dir);
  // The test signs certificates of nodes with it.
  await writeFile(`${dir}/ca.key`, authority.key);
  // Client certificate of the server for node agents.
  const client = issue('server', ['system:masters']);
  await writeFile(`${dir}/client.crt`, client.certificate);
  await writeFile(`${dir}/client.key`, client.key);
  await writeFile(`${dir}/admin.pem`, `${admin.certificate}${admin.key}`);
  await writeFile(`${dir}/audit.json`, JSON.stringify(AUDIT_POLICY));
  return { dir, authority, admin };
}

const flags = (place: UpstreamServerPlace): readonly string[] => [
  ...upstreamServerFlags(place),
  '--enable-bootstrap-token-auth',
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  '--allow-privileged',
  '--feature-gates=BoundServiceAccountTokenVolume=true,EphemeralContainers=true',
  `--${AGENT}-client-certificate=${place.dir}/client.crt`,
  `--${AGENT}-client-key=${place.dir}/client.key`,
  `--${AGENT}-certificate-authority=${place.dir}/ca.crt`,
  `--${AGENT}-preferred-address-types=InternalIP`,
  `--audit-policy-file=${place.dir}/audit.json`,
  `--audit-log-path=${place.dir}/audit.log`,
];

/** Creates the objects of a namespace that admission requires and controllers would create. */
async function furnish(
  call: UpstreamServer['call'],
  create: UpstreamServer['create'],
  authority: Identity,
): Promise<void> {
  const path = '/api/v1/namespaces/default';
  // The server is ready before it has created its first namespaces.
  for (const there of [path, `/api/v1/namespaces/${WORDS.systemNamespace}`]) {
    await eventually(async () => (await call('GET', there)).status === 200);
  }
  await checkUpstreamServer((method, place, body) =>
    call(method, place, body === undefined ? undefined : JSON.parse(body)),
  );
  await create(`${path}/serviceaccounts`, { metadata: { name: 'default' } });
  const data = { 'ca.crt': authority.certificate };
  await create(`${path}/configmaps`, { metadata: { name: 'kube-root-ca.crt' }, data });
}

const createCall =
  (agent: Agent, url: string): UpstreamServer['call'] =>
  async (method, path, body, type = 'application/json') => {
    const response = await request(url + path, {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type lists the methods
      method: method as 'GET',
      dispatcher: agent,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': type } }),
    });
    const text = await response.body.text();
    const json: unknown = text.startsWith('{') ? JSON.parse(text) : {};
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the server says is what is tested
    return { status: response.statusCode, text, body: json as Body };
  };

const createCreate =
  (call: UpstreamServer['call']): UpstreamServer['create'] =>
  async (path, object) => {
    const { status, text, body } = await call('POST', path, object);
    if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`);
    return body;
  };

async function readAudit(dir: string): Promise<readonly AuditedRequest[]> {
  const text = await readFile(`${dir}/audit.log`, 'utf8');
  const lines = text.split('\n').filter((line) => line !== '');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server's own form
  return lines.map((line) => JSON.parse(line) as AuditedRequest);
}

export async function startUpstreamServer(): Promise<UpstreamServer> {
  await using started = new AsyncDisposableStack();
  const { path: dir } = started.use(await createTempDir('na-stock-'));
  const etcd = started.use(await startEtcd());
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const { authority, admin } = await writeFiles(dir);
  const tls = { authority: authority.certificate, insecure: false };
  const configFile = `${dir}/admin.json`;
  await writeFile(configFile, formatPlatconfig({ server: url, tls }, { pairFile: `${dir}/admin.pem` }));
  const connect = { ca: authority.certificate, cert: admin.certificate, key: admin.key };
  const agent = new Agent({ connect, allowH2: false, connections: 8 });
  started.defer(() => agent.destroy());
  const call = createCall(agent, url);
  const create = createCreate(call);
  const stock = started.use(
    await startUpstream({
      program: `${inject('upstreamPrograms')}/kube-apiserver`,
      args: flags({ dir, port, etcd: etcd.urls.join() }),
      logFile: `${dir}/log`,
      isReady: async () => (await call('GET', '/readyz')).status === 200,
    }),
  );
  await furnish(call, create, authority);
  const all = started.move();
  return {
    url,
    dir,
    authority,
    configFile,
    process: stock,
    call,
    create,
    audited: () => readAudit(dir),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
