/** Runs one credential plugin: a program with arguments, never a shell. Reads the response from standard
 *  output and passes standard error on. Source: exec credential plugins, document 2 §5.8. */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { asError, codeOrName } from '#api/kit/errno.ts';

/** A plugin that failed or could not be run. Contains none of its output, which may be secret. */
export class ExecPluginError extends Error {
  override readonly name = 'ExecPluginError';
  readonly reason = 'ExecPluginFailed';
  readonly retryable = true;
}

export interface ExecPluginRun {
  /** An absolute path, or a name to find in PATH. */
  readonly command: string;
  readonly args: readonly string[];
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether the plugin inherits standard input. */
  readonly interactive: boolean;
  /** Installation hint for a missing command; empty for none. */
  readonly installHint: string;
  readonly timeoutMs: number;
  /** Receives chunks of the plugin's standard error. */
  readonly passOn: (chunk: Uint8Array) => void;
}

export type RunExecPlugin = (run: ExecPluginRun, signal: AbortSignal) => Promise<string>;

const LARGEST_RESPONSE_BYTES = 1024 * 1024;

interface Running {
  /** The failure; undefined after a successful exit. */
  readonly ended: Promise<string | undefined>;
  readonly stop: () => void;
}

/** Kills the program with all its children, and closes this end of its pipes, which other processes might
 *  hold open. */
function follow(child: ChildProcess, run: ExecPluginRun): Running {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  child.on('error', (error) => resolve(describeStart(run, asError(error))));
  child.on('close', (code, killedBy) => {
    if (code === 0) resolve(undefined);
    else resolve(killedBy === null ? `exited with code ${code}` : `was killed by ${killedBy}`);
  });
  return {
    ended: promise,
    stop() {
      killAll(child, run.interactive);
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
}

/** An interactive plugin stays in the foreground process group, or it could not use the terminal. */
function killAll(child: ChildProcess, interactive: boolean): void {
  if (interactive || child.pid === undefined) {
    child.kill('SIGKILL');
    return;
  }
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The process group has ended.
  }
}

function describeStart({ command, installHint }: ExecPluginRun, error: Error): string {
  const code = codeOrName(error);
  if (code !== 'ENOENT') return `could not be run: ${code}`;
  const hint = installHint === '' ? '' : `\n${installHint.trimEnd()}`;
  const where = command.includes('/') ? '' : ' in PATH';
  return `was not found${where}: install it, or correct user.exec.command${hint}`;
}

interface Output {
  readonly text: () => string;
  readonly isTooLong: () => boolean;
}

function collect(stream: Readable | null | undefined, onTooLong: () => void): Output {
  const parts: Buffer[] = [];
  let bytes = 0;
  stream?.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > LARGEST_RESPONSE_BYTES) onTooLong();
    else parts.push(part);
  });
  return {
    text: () => Buffer.concat(parts).toString('utf8'),
    isTooLong: () => bytes > LARGEST_RESPONSE_BYTES,
  };
}

/** Some failures are thrown immediately, such as arguments that are too long; others are events. */
function start(run: ExecPluginRun, fail: (detail: string) => ExecPluginError): ChildProcess {
  const { command, args, env, interactive } = run;
  try {
    return spawn(command, [...args], {
      env,
      stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'pipe'],
      detached: !interactive,
    });
  } catch (thrown) {
    throw fail(describeStart(run, asError(thrown)));
  }
}

/** Resolves to the standard output of the plugin. Kills it at the timeout, on abort, and when it prints too
 *  much.
 *  @throws ExecPluginError; the signal's reason when it fires */
export async function runExecPlugin(run: ExecPluginRun, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { command, timeoutMs } = run;
  const fail = (detail: string): ExecPluginError =>
    new ExecPluginError(`credential plugin ${command} ${detail}`);
  const deadline = AbortSignal.timeout(timeoutMs);
  const child = start(run, fail);
  const { ended, stop } = follow(child, run);
  const ending = AbortSignal.any([signal, deadline]);
  ending.addEventListener('abort', stop, { once: true });
  // Without free file descriptors, neither the process nor its pipes exist, in spite of the types.
  const { stdout, stderr }: { stdout?: Readable | null; stderr?: Readable | null } = child;
  const output = collect(stdout, stop);
  stderr?.on('data', run.passOn);
  try {
    const failure = await ended;
    signal.throwIfAborted();
    if (deadline.aborted) throw fail(`did not respond within ${timeoutMs} ms`);
    if (output.isTooLong()) throw fail(`printed more than ${LARGEST_RESPONSE_BYTES} bytes`);
    if (failure !== undefined) throw fail(failure);
    return output.text();
  } finally {
    ending.removeEventListener('abort', stop);
  }
}
