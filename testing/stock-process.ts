/** One of upstream's programs as a process of a test: its output goes to a file, and it stops with the
 *  test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { asError } from '#api/kit/errno.ts';
import { eventually } from './wait.ts';

const STOP_TIMEOUT_MS = 20_000;
const LOG_TAIL = 8_000;

export interface UpstreamProcess extends AsyncDisposable {
  /** Returns 0 before the start. */
  pid(): number;
  /** Returns the output so far, including that before a restart. */
  log(): Promise<string>;
  /** Starts it again, and waits until it is ready. @throws Error with the end of its log */
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface UpstreamProcessOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** In addition to `PATH`; nothing else is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly isReady: () => Promise<boolean>;
}

/** @throws Error with the end of its log, if it is not ready within a minute */
export async function startUpstream(options: UpstreamProcessOptions): Promise<UpstreamProcess> {
  const { program, args, logFile, env = {}, isReady } = options;
  let child: ChildProcess | undefined;
  const hasEnded = (): boolean => child === undefined || child.exitCode !== null || child.signalCode !== null;
  const log = (): Promise<string> => readFile(logFile, 'utf8');

  async function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (child === undefined || hasEnded()) return;
    const ended = once(child, 'exit');
    const running = child;
    running.kill(signal);
    const late = setTimeout(() => running.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(late);
  }

  async function start(): Promise<void> {
    const output = openSync(logFile, 'a');
    child = spawn(program, args, {
      stdio: ['ignore', output, output],
      env: { PATH: process.env['PATH'] ?? '', ...env },
    });
    closeSync(output);
    try {
      await eventually(async () => hasEnded() || (await isReady()), { timeoutMs: 60_000, intervalMs: 100 });
      if (hasEnded()) throw new Error(`it exited with ${String(child.exitCode ?? child.signalCode)}`);
    } catch (thrown) {
      await stop('SIGKILL');
      const tail = (await log()).slice(-LOG_TAIL);
      throw new Error(`${basename(program)}: ${asError(thrown).message}\n${tail}`, { cause: thrown });
    }
  }

  await start();
  return {
    pid: () => child?.pid ?? 0,
    log,
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await saveLog(logFile);
    },
  };
}

/** Saves it like the logs of our agents, in the directory of NODEAGENT_TEST_LOGS, if that is set. */
async function saveLog(logFile: string): Promise<void> {
  const folder = process.env['NODEAGENT_TEST_LOGS'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await copyFile(logFile, join(folder, `${basename(dirname(logFile))}.log`));
}
