/** The command line as a separate process, for tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text as readAll } from 'node:stream/consumers';
import type { TestAgent } from './agent.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { testProgram } from './programs.ts';

export const CLI: string = testProgram('nodeagent', 'agent/bin.ts');

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export type CliProcess = ChildProcess & { readonly ended: Promise<Ended> };

/** Starts a command that talks to the agent. */
export function startCli(
  agent: TestAgent,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): CliProcess {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, ...COMPILE_CACHE, NODEAGENT_SOCKET: agent.socket, ...env },
    cwd: agent.folder,
  });
  const ended = Promise.all([once(child, 'close'), readAll(child.stdout), readAll(child.stderr)]).then(
    ([, out, err]) => ({ code: child.exitCode, out, err }),
  );
  return Object.assign(child, { ended });
}

/** Runs a command to completion. */
export function runCli(
  agent: TestAgent,
  args: readonly string[],
  input: string | Uint8Array = '',
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = startCli(agent, args, env);
  // A command that reads no input may have exited already.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  return child.ended;
}
