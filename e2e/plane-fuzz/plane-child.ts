/** Starts the server in a child process, for tests that may break it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { Agent } from 'node:https';
import { join } from 'node:path';

import { API_ALONE } from '#plane/main.fixture.ts';
import type { Report, Vitals } from './plane-process.ts';

export interface Credentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface PlaneChild extends AsyncDisposable {
  readonly url: string;
  readonly agent: Agent;
  /** The same one as long as it is open. */
  session(): ClientHttp2Session;
  readonly credentials: Credentials;
  /** Lines of its log about unexpected failures, and its output when it crashed. */
  readonly complaints: readonly string[];
  readonly alive: boolean;
  vitals(): Promise<Vitals>;
  /** Longest CPU time that blocked its event loop since the last call. */
  stallMs(): Promise<number>;
  /** Bytes of its heap that nothing holds, and that collections of the new generation alone have left; frees them. */
  garbage(): Promise<number>;
}

const PROGRAM = join(import.meta.dirname, 'plane-process.ts');

export async function credentialsIn(file: string): Promise<Credentials> {
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

/** Its own log says how bad a line is; anything else is Node's. The same failure gives the same text. */
function complaintIn(line: string): string | undefined {
  if (!line.startsWith('{"level":')) return line;
  const { level, msg, err } = JSON.parse(line) as {
    level: string;
    msg: string;
    err?: { message?: string; stack?: string };
  };
  if (level !== 'error' && level !== 'fatal') return undefined;
  return `${msg}: ${err?.stack?.split('\n').slice(0, 7).join('\n') ?? err?.message ?? ''}`;
}

export async function startPlaneChild(dir: string, flags: readonly string[] = []): Promise<PlaneChild> {
  const child = fork(
    PROGRAM,
    ['--data-dir', dir, '--bind-address=127.0.0.1', '--secure-port=0', ...API_ALONE, ...flags],
    {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    },
  );
  const complaints: string[] = [];
  let rest = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const complaint = complaintIn(line);
      if (complaint !== undefined && !complaints.includes(complaint)) complaints.push(complaint);
    }
  });
  const ready = await reported(child, 'ready', complaints);
  const credentials = await credentialsIn(ready.platconfigFile);
  const agent = new Agent({ ...credentials, keepAlive: true });
  let session: ClientHttp2Session | undefined;
  return {
    url: ready.url,
    agent,
    session() {
      if (session !== undefined && !session.closed && !session.destroyed) return session;
      session = connect(ready.url, { ...credentials });
      // Requests on it fail as well.
      session.on('error', () => undefined);
      return session;
    },
    credentials,
    complaints,
    get alive() {
      return child.exitCode === null && child.signalCode === null;
    },
    async vitals() {
      const response = reported(child, 'vitals', complaints);
      child.send('vitals');
      return (await response).vitals;
    },
    async stallMs() {
      const response = reported(child, 'stall', complaints);
      child.send('stall');
      return (await response).ms;
    },
    async garbage() {
      const response = reported(child, 'garbage', complaints);
      child.send('garbage');
      return (await response).bytes;
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      session?.destroy();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.send('end');
      await gone;
    },
  };
}

async function reported<K extends Report['kind']>(
  child: ChildProcess,
  kind: K,
  complaints: readonly string[],
): Promise<Extract<Report, { kind: K }>> {
  for (;;) {
    const ended = new AbortController();
    const gone = once(child, 'exit', { signal: ended.signal }).then((): never => {
      throw new Error(`the server ended: ${complaints.slice(-20).join('\n')}`);
    });
    // Whichever is first: the result of the other one is ignored.
    gone.catch(() => undefined);
    const [message] = (await Promise.race([once(child, 'message', { signal: ended.signal }), gone])) as [
      Report,
    ];
    ended.abort();
    if (message.kind === kind) return message as Extract<Report, { kind: K }>;
  }
}
