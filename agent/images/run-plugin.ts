/** Runs one credential plugin: request on its standard input, answer on its standard output. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { asError } from '#api/kit/clock.ts';

/** A plugin that could not be run or failed. Holds nothing that the plugin printed: that may be a secret. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
}

export interface PluginRun {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type RunPlugin = (run: PluginRun) => Promise<string>;

const LARGEST_ANSWER_BYTES = 1024 * 1024;

/** Resolves to what it printed. It is killed at the timeout, on abort, and when it prints too much.
 * @throws {PluginError}; the signal's reason when it fires. */
export async function runPlugin(run: PluginRun): Promise<string> {
  const { path, args, env, input, timeoutMs, signal } = run;
  signal.throwIfAborted();
  const deadline = AbortSignal.timeout(timeoutMs);
  const child = spawn(path, [...args], {
    env,
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
    signal: AbortSignal.any([signal, deadline]),
    killSignal: 'SIGKILL',
  });
  const ended = untilEnded(child);
  const parts: Buffer[] = [];
  let bytes = 0;
  // Without free descriptors there is neither a process nor its pipes, whatever the types say.
  const { stdin, stdout }: { stdin?: Writable | null; stdout?: Readable | null } = child;
  stdout?.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > LARGEST_ANSWER_BYTES) child.kill('SIGKILL');
    else parts.push(part);
  });
  // A plugin may end without reading its request.
  stdin?.on('error', () => undefined);
  stdin?.end(input);
  const failure = await ended;
  signal.throwIfAborted();
  if (deadline.aborted) throw new PluginError(`did not answer within ${timeoutMs} ms`);
  if (bytes > LARGEST_ANSWER_BYTES) throw new PluginError(`printed more than ${LARGEST_ANSWER_BYTES} bytes`);
  if (failure !== undefined) throw new PluginError(failure);
  return Buffer.concat(parts).toString('utf8');
}

/** Why it failed; undefined when it ended well. */
function untilEnded(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(`could not be run: ${describeError(asError(error))}`));
    child.on('close', (code, killedBy) => {
      if (code === 0) resolve(undefined);
      else resolve(killedBy === null ? `exited with code ${code}` : `was ended by ${killedBy}`);
    });
  });
}

function describeError(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
