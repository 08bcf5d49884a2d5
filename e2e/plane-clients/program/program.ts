/** The server as a program: flags, output lines and exit code of its process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Agent, request } from 'undici';
import { API_ALONE } from '#plane/main.fixture.ts';
import { testProgram } from '../../../testing/programs.ts';
import { eventually } from '../../../testing/wait.ts';
import { type Credentials, credentialsIn } from '../../plane-fuzz/plane-child.ts';

const PROGRAM = testProgram('control-plane-lite', 'control-plane-lite/bin.ts');

/** The parts of a response that tests use: an object, a list or a Status. */
export interface Body {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly items: readonly Body[];
  readonly code: number;
  readonly reason: string;
  readonly message: string;
}

export interface Reply {
  readonly status: number;
  readonly text: string;
  /** The body as JSON, if it is some. */
  readonly body: Body;
}

export interface Ended {
  /** `null`: ended by a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Program extends AsyncDisposable {
  readonly url: string;
  readonly credentials: Credentials;
  readonly agent: Agent;
  readonly ended: Promise<Ended>;
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
  call(method: string, path: string, body?: unknown): Promise<Reply>;
}

interface Child {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly stdout: () => string;
}

function start(argv: readonly string[], entry: string): Child {
  const child = spawn(process.execPath, [entry, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    texts.stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    texts.stderr += chunk.toString();
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    // After the last of its output.
    child.once('close', (code) => resolve({ code, ...texts }));
  });
  return { process: child, ended, stdout: () => texts.stdout };
}

/** Runs a command to its end. */
export const runProgram = (argv: readonly string[], entry: string = PROGRAM): Promise<Ended> =>
  start(argv, entry).ended;

/** Starts a server on a free port of loopback, unless flags say otherwise; resolves when it is ready. Of it only the API runs, unless flags name controllers.
 *  @throws Error with what it said, if it ended instead */
export async function startProgram(
  dir: string,
  flags: readonly string[] = [],
  entry: string = PROGRAM,
): Promise<Program> {
  const gives = (name: string): boolean => flags.some((flag) => flag.startsWith(name));
  const own = [
    '--data-dir',
    dir,
    ...(gives('--bind-address') ? [] : ['--bind-address=127.0.0.1']),
    ...(gives('--secure-port') ? [] : ['--secure-port=0']),
  ];
  const child = start([...own, ...(gives('--controllers') ? [] : API_ALONE), ...flags], entry);
  const said = new Promise<RegExpExecArray>((resolve) => {
    child.process.stdout?.on('data', () => {
      const found = /serves (\S+);.* --kubeconfig (\S+)/.exec(child.stdout());
      if (found !== null) resolve(found);
    });
  });
  const failed = child.ended.then(({ code, stderr }): never => {
    throw new Error(`the server ended with ${String(code)}: ${stderr.slice(-2000)}`);
  });
  // Once it serves, its end is what the test waits for.
  failed.catch(() => undefined);
  const [, url = '', file = ''] = await Promise.race([said, failed]);
  const credentials = await credentialsIn(file);
  const agent = new Agent({ connect: credentials, allowH2: false, connections: 64 });
  const program: Program = {
    url,
    credentials,
    agent,
    ended: child.ended,
    signal: (name) => void child.process.kill(name),
    async call(method, path, body) {
      const response = await request(url + path, {
        method: method as 'GET',
        dispatcher: agent,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const text = await response.body.text();
      const isJson = String(response.headers['content-type']).startsWith('application/json');
      return { status: response.statusCode, text, body: (isJson ? JSON.parse(text) : {}) as Body };
    },
    async [Symbol.asyncDispose]() {
      child.process.kill('SIGKILL');
      await Promise.all([child.ended, agent.destroy()]);
    },
  };
  // It serves before all is there that every server begins with.
  await eventually(async () => (await program.call('GET', '/readyz')).status === 200, { intervalMs: 5 });
  return program;
}
