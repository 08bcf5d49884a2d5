/** Runs one credential plugin: request on standard input, response on standard output. */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { asError, codeOrName } from '#api/kit/errno.ts';

/** A plugin that failed or could not be run. Contains none of its output, which may be secret. */
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

const LARGEST_RESPONSE_BYTES = 1024 * 1024;

/** Resolves to the output. Kills the plugin at the timeout, on abort, and when it prints too much.
 *  @throws {PluginError}; the signal's reason when it fires */
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
  // Without free file descriptors, neither the process nor its pipes exist, in spite of the types.
  const { stdin, stdout }: { stdin?: Writable | null; stdout?: Readable | null } = child;
  stdout?.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > LARGEST_RESPONSE_BYTES) child.kill('SIGKILL');
    else parts.push(part);
  });
  // A plugin may exit without reading its request.
  stdin?.on('error', () => undefined);
  stdin?.end(input);
  const failure = await ended;
  signal.throwIfAborted();
  if (deadline.aborted) throw new PluginError(`did not respond within ${timeoutMs} ms`);
  if (bytes > LARGEST_RESPONSE_BYTES)
    throw new PluginError(`printed more than ${LARGEST_RESPONSE_BYTES} bytes`);
  if (failure !== undefined) throw new PluginError(failure);
  return Buffer.concat(parts).toString('utf8');
}

/** Returns the failure; undefined after a successful exit. */
function untilEnded(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(`could not be run: ${codeOrName(asError(error))}`));
    child.on('close', (code, killedBy) => {
      if (code === 0) resolve(undefined);
      else resolve(killedBy === null ? `exited with code ${code}` : `was killed by ${killedBy}`);
    });
  });
}
