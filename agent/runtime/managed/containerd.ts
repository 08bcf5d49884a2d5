/** Supervisor of a managed containerd: adopts the one that serves this configuration or starts it, and
 *  restarts it when it exits. It has its own session, so it and its pods outlive the process that started it.
 *  Never touches the containerd of the machine. */

import { spawn } from 'node:child_process';
import { open, readFile, writeFile } from 'node:fs/promises';
import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep, systemClock } from '#api/kit/clock.ts';
import { asError, hasCode } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type ContainerdLayout, containerdLayout, type LayoutOptions } from './layout.ts';
import { PAUSE_IMAGE } from './local-images.ts';
import { prepareContainerd, removeFile } from './prepare.ts';
import { findContainerd, isContainerdOf, readProcess } from './process.ts';
import { findRuntimePrograms } from './programs.ts';
import { isListening, isServing, untilClosed } from './socket-probe.ts';

export interface ManagedContainerdOptions extends LayoutOptions {
  readonly log: Logger;
  readonly clock?: Clock;
  /** Name of the pod network; `nodeagent` unless given. Two instances on a machine need different ones. */
  readonly networkName?: string;
  /** `local/pause:1` unless given. */
  readonly sandboxImage?: string;
  readonly systemdCgroup?: boolean;
  /** Directory of registry settings: `<registry>/hosts.toml`. */
  readonly registryDir?: string;
  /** Timeout for the first successful CRI call, in ms; 60 s unless given. */
  readonly readyTimeoutMs?: number;
  /** Whether to restart it when it exits; true unless given. */
  readonly restart?: boolean;
}

/** Exit of an instance. Only the pid is known of an adopted one. */
export interface ContainerdExit {
  readonly pid: number;
  readonly exitCode: number | null;
  readonly signalName: string | null;
}

export interface ManagedContainerd extends AsyncDisposable {
  /** `unix://…`, in the form of `--container-runtime-endpoint`. */
  readonly endpoint: string;
  readonly layout: ContainerdLayout;
  /** Pid of the running instance; undefined between exit and restart. */
  readonly pid: number | undefined;
  /** Whether it was adopted. */
  readonly adopted: boolean;
  /** Calls the listener at each unexpected exit; returns a function that unsubscribes. */
  onExit(listener: (exit: ContainerdExit) => void): () => void;
  /** Stops the supervision; containerd keeps running. */
  release(): void;
  /** Stops supervision and containerd. Containers keep running in their shims. */
  stop(): Promise<void>;
}

/** The managed containerd failed to start, or its socket belongs to another process. */
export class ContainerdStartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ContainerdStartError';
  }
}

/** The managed containerd survived SIGKILL: the kernel blocks its exit. */
class ContainerdStopError extends Error {
  constructor(pid: number) {
    super(`the managed containerd (process ${pid}) did not exit`);
    this.name = 'ContainerdStopError';
  }
}

interface Instance {
  readonly pid: number;
  readonly adopted: boolean;
  /** Resolves at its exit. */
  readonly ended: Promise<ContainerdExit>;
}

interface Context {
  readonly layout: ContainerdLayout;
  readonly containerdPath: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly readyTimeoutMs: number;
  /** Fires when the supervision ends. */
  readonly released: AbortSignal;
}

/** First and longest interval between two probes of a socket that does not respond yet, in ms. */
const FIRST_PROBE_MS = 10;
const LONGEST_PROBE_MS = 200;
/** Time that containerd may take to exit after SIGTERM, in ms. */
const STOP_TIMEOUT_MS = 10_000;
/** Environment passed to containerd: proxies for pulls, nothing else. */
const PASSED_ENVIRONMENT = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Starts or adopts containerd. Resolves when it responds to CRI calls.
 *  @throws MissingProgramError, ContainerdConfigError, NoFreeSubnetError
 *  @throws ContainerdStartError with the end of its log when it exits or does not respond */
export async function startManagedContainerd(options: ManagedContainerdOptions): Promise<ManagedContainerd> {
  const programs = await findRuntimePrograms();
  const releasing = new AbortController();
  const context: Context = {
    layout: containerdLayout(options),
    containerdPath: programs.containerd,
    clock: options.clock ?? systemClock,
    log: options.log.child({ component: 'containerd' }),
    readyTimeoutMs: options.readyTimeoutMs ?? 60_000,
    released: releasing.signal,
  };
  const changed = await prepareContainerd({
    layout: context.layout,
    programs,
    networkName: options.networkName ?? 'nodeagent',
    sandboxImage: options.sandboxImage ?? PAUSE_IMAGE,
    systemdCgroup: options.systemdCgroup ?? false,
    registryDir: options.registryDir,
  });
  const first = await launch(context, changed);
  return superviseContainerd(context, first, releasing, options.restart ?? true);
}

/** Adopts or starts; `replace` stops a running instance first, as its configuration is outdated. */
async function launch(context: Context, replace: boolean): Promise<Instance> {
  const { layout, log } = context;
  const running = await findContainerd(layout.configPath, layout.pidPath);
  if (running !== undefined && replace) await endProcess(context, running);
  const adopted = running !== undefined && !replace;
  if (!adopted && (await isListening(layout.socketPath))) {
    throw new ContainerdStartError(`another process serves ${layout.socketPath}`);
  }
  const instance = adopted ? adopt(context, running) : await spawnContainerd(context);
  await writeFile(layout.pidPath, `${instance.pid}\n`, { mode: 0o644 });
  await untilServing(context, instance);
  log.info({ pid: instance.pid }, adopted ? 'Managed containerd adopted' : 'Managed containerd started');
  return instance;
}

/** Starts the program in its own session with its output in the log file. */
async function spawnContainerd(context: Context): Promise<Instance> {
  const { layout } = context;
  const output = await open(layout.logPath, 'a', 0o640);
  try {
    const child = spawn(context.containerdPath, ['--config', layout.configPath], {
      cwd: '/',
      detached: true,
      env: containerdEnvironment(process.env),
      stdio: ['ignore', output.fd, output.fd],
    });
    const ended = Promise.withResolvers<ContainerdExit>();
    child.once('exit', (exitCode, signalName) =>
      ended.resolve({ pid: child.pid ?? 0, exitCode, signalName }),
    );
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (cause) =>
        reject(new ContainerdStartError(`failed to start ${context.containerdPath}`, { cause })),
      );
    });
    child.unref();
    return { pid: child.pid ?? 0, adopted: false, ended: ended.promise };
  } finally {
    await output.close();
  }
}

function containerdEnvironment(own: NodeJS.ProcessEnv): Record<string, string> {
  const passed = PASSED_ENVIRONMENT.flatMap((name) => {
    const value = own[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { PATH: SYSTEM_PATH, ...Object.fromEntries(passed) };
}

/** Watches a process that is not a child of this one by a connection that closes with it. */
function adopt(context: Context, pid: number): Instance {
  async function watch(): Promise<ContainerdExit> {
    while (!context.released.aborted && (await isRunning(context, pid))) {
      await untilClosed(context.layout.socketPath, context.released);
      // The connection closes shortly before the process has exited.
      await sleep(context.clock, LONGEST_PROBE_MS);
    }
    return { pid, exitCode: null, signalName: null };
  }
  return { pid, adopted: true, ended: watch() };
}

async function isRunning(context: Context, pid: number): Promise<boolean> {
  const image = await readProcess(pid);
  return image !== undefined && isContainerdOf(image, context.layout.configPath);
}

async function untilServing(context: Context, instance: Instance): Promise<void> {
  const { clock, layout } = context;
  const deadlineMs = clock.monotonic() + context.readyTimeoutMs;
  let ended = false;
  for (let waitMs = FIRST_PROBE_MS; !ended; waitMs = Math.min(waitMs * 1.5, LONGEST_PROBE_MS)) {
    if (await isServing(layout.socketPath)) return;
    if (clock.monotonic() > deadlineMs) break;
    ended = await Promise.race([sleep(clock, waitMs).then(() => false), instance.ended.then(() => true)]);
  }
  const what = ended ? 'exited at once' : `did not respond within ${context.readyTimeoutMs} ms`;
  if (!ended) await endProcess(context, instance.pid);
  throw new ContainerdStartError(
    `the managed containerd ${what}; its log ends:\n${await logTail(layout.logPath)}`,
  );
}

async function logTail(path: string): Promise<string> {
  const text = await readFile(path, 'utf8');
  return text.trimEnd().split('\n').slice(-8).join('\n').slice(-4000);
}

/** Sends SIGTERM, then SIGKILL after a timeout. Returns when the process has exited. */
async function endProcess(context: Context, pid: number): Promise<void> {
  const { clock } = context;
  for (const signalName of ['SIGTERM', 'SIGKILL'] as const) {
    const deadlineMs = clock.monotonic() + STOP_TIMEOUT_MS;
    if (await isRunning(context, pid)) sendSignal(pid, signalName);
    while (clock.monotonic() < deadlineMs) {
      if (!(await isRunning(context, pid))) return;
      await sleep(clock, FIRST_PROBE_MS);
    }
  }
  throw new ContainerdStopError(pid);
}

function sendSignal(pid: number, signalName: NodeJS.Signals): void {
  try {
    process.kill(pid, signalName);
  } catch (thrown) {
    // It exited between the check and the signal.
    if (!hasCode(thrown, 'ESRCH')) throw thrown;
  }
}

function superviseContainerd(
  context: Context,
  first: Instance,
  releasing: AbortController,
  restart: boolean,
): ManagedContainerd {
  const { clock, layout, log, released } = context;
  const listeners = createListeners<[exit: ContainerdExit]>('containerd exit');
  const backoff = createBackoff({ initialMs: 100, maxMs: 30_000, jitter: 0.2 });
  let current: Instance | undefined = first;

  async function restartOnce(): Promise<void> {
    await sleep(clock, backoff.fail('containerd', clock.now()), released);
    try {
      current = await launch(context, false);
    } catch (thrown) {
      log.error({ err: asError(thrown) }, 'Managed containerd failed to start');
    }
  }

  async function supervise(): Promise<void> {
    while (!released.aborted) {
      if (current === undefined) {
        await restartOnce();
        continue;
      }
      const exit = await current.ended;
      if (released.aborted) return;
      current = undefined;
      log.warn({ ...exit }, 'Managed containerd exited');
      listeners.notify(exit);
      if (!restart) return;
    }
  }

  const supervision = supervise().catch((thrown: unknown) => {
    if (!released.aborted) log.error({ err: asError(thrown) }, 'Managed containerd supervision failed');
  });

  async function stop(): Promise<void> {
    releasing.abort();
    const pid = current?.pid ?? (await findContainerd(layout.configPath, layout.pidPath));
    if (pid !== undefined) await endProcess(context, pid);
    // A launch in flight may have started another instance.
    if (current === undefined) await supervision;
    if (current !== undefined && current.pid !== pid) await endProcess(context, current.pid);
    current = undefined;
    const leftovers = [layout.pidPath, layout.socketPath, `${layout.socketPath}.ttrpc`];
    await Promise.all(leftovers.map(removeFile));
  }

  return {
    endpoint: `unix://${layout.socketPath}`,
    layout,
    adopted: first.adopted,
    get pid() {
      return current?.pid;
    },
    onExit(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    release: () => releasing.abort(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
