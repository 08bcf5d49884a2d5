/** A whole server for tests: real store, real TLS, on a free loopback port, in a folder of its own. */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../testing/temp.ts';
import { parseConfig } from './config/parse.ts';
import { createUpdateCheck } from './controllers/skeleton/changed-fields.fixture.ts';
import { type RunningServer, startServer } from './main.ts';

export interface TestResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read responses of every kind
  readonly json: any;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without the administrator's certificate. */
  readonly anonymous?: boolean;
}

export interface TestPlane extends AsyncDisposable {
  readonly url: string;
  readonly dir: string;
  readonly platconfigFile: string;
  readonly agent: Agent;
  /** Connects without the administrator's certificate. */
  readonly anonymousAgent: Agent;
  /** PEM, for other clients: the CA and the administrator's certificate and key. */
  credentials(): Credentials;
  call(method: string, path: string, options?: CallOptions): Promise<TestResponse>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<TestResponse>;
  post(path: string, body: unknown): Promise<TestResponse>;
  /** Stops the server gracefully: it waits for requests in flight. */
  stop(): Promise<void>;
  /** Stops the server, keeps its folder, and starts it again. */
  restart(): Promise<void>;
}

export interface Credentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

async function credentialsOf(file: string): Promise<Credentials> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server under test wrote it
  const config = JSON.parse(await readFile(file, 'utf8')) as {
    clusters: [{ cluster: { 'certificate-authority-data': string } }];
    users: [{ user: { 'client-certificate-data': string; 'client-key-data': string } }];
  };
  const text = (base64: string): string => Buffer.from(base64, 'base64').toString();
  const [{ cluster }] = config.clusters;
  const [{ user }] = config.users;
  return {
    ca: text(cluster['certificate-authority-data']),
    cert: text(user['client-certificate-data']),
    key: text(user['client-key-data']),
  };
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Flags for tests of the API only: no objects other than those of clients, no service accounts for pods, and
 *  no controllers to wait for. */
export const API_ALONE: readonly string[] = [
  '--controllers=bootstrapsigner,clusterrole-aggregation,csrapproving,csrcleaner,csrsigning,garbagecollector,namespace,tokencleaner',
  '--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition',
  '--no-scheduler',
];

/** `flags` are added to the folder, the address and the port, which they may override. Resolves once the
 *  server is ready. */
export async function startTestPlane(
  flags: readonly string[] = [],
  log: Logger = silentLogger,
): Promise<TestPlane> {
  const dir = await createTempDir('na-plane-');
  const config = parseConfig([
    '--data-dir',
    dir.path,
    '--bind-address=127.0.0.1',
    ...(flags.some((flag) => flag.startsWith('--secure-port')) ? [] : ['--secure-port=0']),
    ...flags,
  ]);
  const updates = createUpdateCheck();
  let server: RunningServer;
  let agent: Agent;
  let anonymousAgent: Agent;
  let credentials: Credentials;
  async function begin(): Promise<void> {
    server = await startServer(config, log, updates.observe);
    credentials = await credentialsOf(server.platconfigFile);
    const { ca, cert, key } = credentials;
    agent = new Agent({ connect: { ca, cert, key }, allowH2: false, connections: 64 });
    anonymousAgent = new Agent({ connect: { ca }, allowH2: false });
  }
  async function end(): Promise<void> {
    await Promise.all([agent.destroy(), anonymousAgent.destroy()]);
    await server.close(AbortSignal.abort());
  }
  /** Waits until all bootstrap objects exist. */
  async function ready(): Promise<void> {
    while ((await call('GET', '/readyz')).status !== 200) await pause(5);
  }
  const call: TestPlane['call'] = async (method, path, options = {}) => {
    const { body, contentType = 'application/json', headers = {}, anonymous = false } = options;
    const sent =
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const response = await request(server.url + path, {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- tests send unusual methods too
      method: method as 'GET',
      dispatcher: anonymous ? anonymousAgent : agent,
      headers: { ...(sent === undefined ? {} : { 'content-type': contentType }), ...headers },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await response.body.text();
    return { status: response.statusCode, headers: response.headers, text, json: parseJson(text) };
  };
  await begin();
  await ready();
  return {
    get url() {
      return server.url;
    },
    dir: dir.path,
    get platconfigFile() {
      return server.platconfigFile;
    },
    get agent() {
      return agent;
    },
    get anonymousAgent() {
      return anonymousAgent;
    },
    credentials: () => credentials,
    call,
    get: (path, headers) => call('GET', path, headers === undefined ? {} : { headers }),
    post: (path, body) => call('POST', path, { body }),
    async stop() {
      await server.close();
    },
    async restart() {
      await end();
      await begin();
      await ready();
    },
    async [Symbol.asyncDispose]() {
      await end();
      await dir[Symbol.asyncDispose]();
      updates.assertDeclared();
    },
  };
}
