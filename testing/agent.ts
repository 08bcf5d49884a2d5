/** A real agent process for tests, with its own root directory, manifest directory, socket and logs, on a
 *  given runtime. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { basename, join } from 'node:path';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import type { Event, Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { testProgram } from './programs.ts';
import { agentLog, describeAgent, logTail, saveLog } from './report.ts';
import { createTempDir, type TempDir } from './temp.ts';
import { eventually } from './wait.ts';

export interface TestAgentOptions {
  /** `unix://…` of a container runtime. */
  readonly endpoint: string;
  /** Further flags. */
  readonly flags?: readonly string[];
  /** Working directory; a new one by default. */
  readonly folder?: TempDir;
  /** Whether to start at once; true by default. */
  readonly start?: boolean;
  /** Arguments of node: its own flags, the script and the script's first arguments. */
  readonly program?: readonly string[];
  /** Umask of the process; that of the test process by default. */
  readonly umask?: string;
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Features that a test must request: a server and its port; garbage collection and eviction when the
 *  shared machine of the tests is under pressure; packet rules of the machine. */
const QUIET: readonly { readonly unless: string; readonly flag: string }[] = [
  { unless: '--enable-server', flag: '--enable-server=false' },
  { unless: '--read-only-port', flag: '--read-only-port=0' },
  { unless: '--eviction-hard', flag: '--eviction-hard=' },
  { unless: '--image-gc-high-threshold', flag: '--image-gc-high-threshold=100' },
  { unless: '--make-iptables-util-chains', flag: '--make-iptables-util-chains=false' },
];

const MAIN = testProgram('agent-process', 'testing/agent-process.ts');
const STOP_TIMEOUT_MS = 10_000;
/** Half a second alone; longer on a busy machine where several agents start at once. */
const START_TIMEOUT_MS = 30_000;
/** An agent that is killed while it starts a command in a container may delay the container's termination
 *  for half a minute, see agent/probes/exec-sync.ts. */
const END_TIMEOUT_MS = 50_000;

export class TestAgent implements AsyncDisposable {
  readonly folder: string;
  readonly manifests: string;
  readonly socket: string;
  readonly root: string;
  readonly logs: string;
  /** Parent of its pods' cgroups, unless flags override it. */
  readonly cgroup: string;
  readonly #dir: TempDir;
  readonly #options: TestAgentOptions;
  #process: ChildProcess | undefined;

  private constructor(dir: TempDir, options: TestAgentOptions) {
    this.#dir = dir;
    this.#options = options;
    this.folder = dir.path;
    this.manifests = join(dir.path, 'm');
    this.socket = join(dir.path, 'a.sock');
    this.root = join(dir.path, 'root');
    this.logs = join(dir.path, 'logs');
    this.cgroup = `/na-test-${basename(dir.path)}`;
  }

  static async create(options: TestAgentOptions): Promise<TestAgent> {
    const agent = new TestAgent(options.folder ?? (await createTempDir('na-agent-')), options);
    await mkdir(agent.manifests, { recursive: true });
    try {
      if (options.start !== false) await agent.start();
      return agent;
    } catch (thrown) {
      const log = await logTail(agent);
      await agent.stop('SIGKILL');
      await agent.#dir[Symbol.asyncDispose]();
      throw new Error(`the agent did not start:\n${log}`, { cause: thrown });
    }
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Returns the agent's standard error so far. */
  log(): Promise<string> {
    return readFile(agentLog(this), 'utf8');
  }

  /** Starts the process and waits until its local API responds. */
  async start(flags: readonly string[] = []): Promise<void> {
    this.spawn(flags);
    await eventually(async () => (await this.get('/healthz')) === 'ok', {
      timeoutMs: START_TIMEOUT_MS,
      what: 'the agent responds',
    });
  }

  /** Starts the process without waiting. */
  spawn(flags: readonly string[] = []): void {
    const { endpoint, flags: more = [], program = [MAIN], env = {}, umask } = this.#options;
    const own = [
      `--root-dir=${this.root}`,
      `--pod-manifest-path=${this.manifests}`,
      `--container-runtime-endpoint=${endpoint}`,
      `--socket=${this.socket}`,
      `--pod-logs-dir=${this.logs}`,
      `--container-logs-dir=${join(this.folder, 'links')}`,
      '--healthz-port=0',
      ...QUIET.filter(({ unless }) => ![...more, ...flags].some((flag) => flag.startsWith(unless))).map(
        ({ flag }) => flag,
      ),
      '--hostname-override=n1',
      // A developer's machine may have swap.
      ...([...more, ...flags].some((flag) => flag.startsWith('--fail-swap-on'))
        ? []
        : ['--fail-swap-on=false']),
      ...([...more, ...flags].some((flag) => flag.startsWith('--cgroup-root'))
        ? []
        : [`--cgroup-root=${this.cgroup}`]),
    ];
    const log = openSync(agentLog(this), 'a');
    const argv = [...program, ...own, ...more, ...flags];
    const [command, args] =
      umask === undefined
        ? [process.execPath, argv]
        : ['/bin/sh', ['-c', `umask ${umask}; exec "$0" "$@"`, process.execPath, ...argv]];
    this.#process = spawn(command, args, {
      stdio: ['ignore', 'ignore', log],
      env: { ...process.env, ...COMPILE_CACHE, ...env },
    });
    closeSync(log);
  }

  /** Sends the signal and waits for the process to exit. Returns its exit code, or null for a signal. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    const code = await ended;
    clearTimeout(late);
    return code;
  }

  /** Waits until the process exits on its own. Returns its exit code, or null for a signal. */
  async exited(): Promise<number | null> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    return new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  }

  /** Creates a manifest in the directory atomically. */
  async put(name: string, text: string | Uint8Array): Promise<void> {
    const path = join(this.manifests, name);
    await writeFile(join(this.manifests, `.${name}.tmp`), text);
    await rename(join(this.manifests, `.${name}.tmp`), path);
  }

  /** Applies a manifest over the socket. */
  async apply(text: string): Promise<void> {
    await this.call('POST', '/apply', text);
  }

  async drop(name: string): Promise<void> {
    await rm(join(this.manifests, name), { force: true });
  }

  /** Sends a GET to the local API and parses JSON responses. @throws Error for a status other than 200 */
  get(path: string): Promise<unknown> {
    return this.call('GET', path);
  }

  async call(method: string, path: string, body?: string): Promise<unknown> {
    const { status, text } = await callSocket(this.socket, method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return text.startsWith('{') ? JSON.parse(text) : text;
  }

  async pods(): Promise<readonly Pod[]> {
    return ((await this.get('/pods')) as { items: readonly Pod[] }).items;
  }

  /** Returns the pod of the manifest with this name, without the node's suffix. */
  async pod(name: string): Promise<Pod | undefined> {
    const pods = await this.pods();
    return pods.find(({ metadata }) => metadata?.name === name || metadata?.name === `${name}-n1`);
  }

  async events(name?: string): Promise<readonly Event[]> {
    const { items } = (await this.get('/events')) as { items: readonly Event[] };
    return name === undefined
      ? items
      : items.filter(({ involvedObject }) => involvedObject.name?.startsWith(name));
  }

  /** Waits until the pod satisfies the condition and returns it.
   *  @throws Error with the pod's state on timeout */
  async waitFor(name: string, condition: (pod: Pod) => boolean, timeoutMs = 30_000): Promise<Pod> {
    return this.#explained(name, () => this.#waitFor(name, condition, timeoutMs));
  }

  #waitFor(name: string, condition: (pod: Pod) => boolean, timeoutMs: number): Promise<Pod> {
    return eventually(
      async () => {
        const pod = await this.pod(name);
        if (pod !== undefined && condition(pod)) return pod;
        // Reported as the cause on timeout.
        throw new Error(pod === undefined ? 'the pod does not exist' : `it is ${JSON.stringify(pod.status)}`);
      },
      { timeoutMs, what: `pod ${name}: ${condition.toString().slice(0, 120)}` },
    );
  }

  async #explained<T>(mentions: string, wait: () => Promise<T>): Promise<T> {
    try {
      return await wait();
    } catch (thrown) {
      const known = await describeAgent(this, this.#options.endpoint, mentions);
      throw new Error(`${asError(thrown).message}\n${known}`, { cause: thrown });
    }
  }

  async #removeApplied(): Promise<void> {
    for (const { metadata } of await this.pods()) {
      const { namespace, name } = metadata ?? {};
      // Fails for pods of other sources.
      await this.call('DELETE', `/pods/${namespace}/${name}`).catch(() => undefined);
    }
  }

  /** Terminates every pod by removing its manifest, then stops the process and removes the directory. The
   *  process always stops; remaining pods and their directory are left to the owner of the runtime. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#endPods();
    } finally {
      await this.stop();
      await saveLog(this);
    }
    await removeCgroupTree(this.cgroup);
    await this.#dir[Symbol.asyncDispose]();
  }

  async #endPods(): Promise<void> {
    const alive = this.#process?.exitCode === null && this.#process.signalCode === null;
    for (const name of await readdir(this.manifests)) await this.drop(name);
    if (alive) await this.#removeApplied();
    else await rm(join(this.root, 'applied'), { recursive: true, force: true });
    if (!alive) await this.start();
    await this.#explained('', () => this.#allGone());
  }

  #allGone(): Promise<true> {
    return eventually(
      async () => {
        const left = await this.pods();
        // An agent that has just started lists nothing yet; pods of an earlier one are in its directory.
        const folders = await readdir(join(this.root, 'pods')).catch(() => []);
        if (left.length + folders.length === 0) return true;
        throw new Error(`remaining: ${JSON.stringify(left)}\ndirectories: ${folders.join()}`);
      },
      { timeoutMs: END_TIMEOUT_MS, what: 'all pods are gone' },
    );
  }
}

function callSocket(
  socketPath: string,
  method: string,
  path: string,
  body?: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method, path, timeout: 10_000 }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
      );
    });
    call.once('error', reject);
    call.end(body);
  });
}

/** Reports whether every container of the pod runs and is ready. */
export const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true;
