/** Runs upstream's command-line client as a process with its own home and cache, and the unchanged
 *  configuration file that the server wrote for its administrator. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from 'vitest';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import type { Body } from '../plane/support.ts';

/** Another release than the one in `PATH`, to try it by hand. */
const PROGRAM = process.env['KUBECTL'] ?? 'kubectl';

const TIMEOUT_MS = 20_000;

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly input?: string | object;
  readonly env?: Readonly<Record<string, string>>;
  /** Another release than that of `PROGRAM`. */
  readonly program?: string;
  /** Until it is killed, for a command that waits; 20 s unless given. */
  readonly timeoutMs?: number;
}

/** A command: its arguments, or one text that is split at spaces. */
export type Command = string | readonly string[];

export interface Watching extends AsyncDisposable {
  /** The next line that it prints, without surplus spaces. @throws Error when none comes in time */
  line(): Promise<string>;
  /** Standard error output so far. */
  errors(): string;
  /** Writes to its input, which stays open. */
  say(text: string): void;
}

export interface Kubectl {
  /** Folder for files that commands read. */
  readonly dir: () => string;
  readonly run: (command: Command, options?: RunOptions) => Promise<Ended>;
  /** Returns the standard output. @throws Error if the command fails */
  readonly ok: (command: Command, options?: RunOptions) => Promise<string>;
  /** Returns the standard error output. @throws Error if the command succeeds */
  readonly fails: (command: Command, options?: RunOptions) => Promise<string>;
  /** Returns the output parsed as JSON. */
  readonly json: (command: Command) => Promise<Body>;
  /** Returns the cells of a table, line by line. */
  readonly table: (command: Command) => Promise<readonly (readonly string[])[]>;
  readonly start: (command: Command, env?: Readonly<Record<string, string>>) => Watching;
}

const wordsOf = (command: Command): readonly string[] =>
  typeof command === 'string' ? command.split(' ') : command;

const inputOf = ({ input = '' }: RunOptions): string =>
  typeof input === 'string' ? input : JSON.stringify(input);

/** The minor release of the program: 20 of 1.20.2.
 *  @throws Error if there is no such program */
export async function kubectlMinor(): Promise<number> {
  const { stdout } = await promisify(execFile)(PROGRAM, ['version', '--client', '-o', 'json']);
  return Number(/"minor": "(\d+)/.exec(stdout)?.[1]);
}

/** For the tests of a file; `config` returns the path of the configuration when the server runs. */
export function useKubectl(config: () => string): Kubectl {
  let home: TempDir;
  beforeAll(async () => {
    home = await createTempDir('na-kubectl-');
  });
  afterAll(() => home[Symbol.asyncDispose]());

  function startProcess(
    command: Command,
    env: Readonly<Record<string, string>> = {},
    program = PROGRAM,
  ): ChildProcess {
    const args = ['--cache-dir', `${home.path}/cache`, ...wordsOf(command)];
    const common = { PATH: process.env['PATH'] ?? '', HOME: home.path, KUBECONFIG: config() };
    return spawn(program, args, { cwd: home.path, env: { ...common, ...env } });
  }

  async function run(command: Command, options: RunOptions = {}): Promise<Ended> {
    const child = startProcess(command, options.env, options.program);
    const late = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? TIMEOUT_MS);
    const texts = { out: '', err: '' };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (texts.out += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (texts.err += text));
    // It may end before it has read everything.
    child.stdin?.on('error', () => undefined).end(inputOf(options));
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(late);
    return { code: code ?? -1, ...texts };
  }

  const reported = (command: Command, { code, out, err }: Ended): Error =>
    new Error(`kubectl ${wordsOf(command).join(' ')} ended with ${code}: ${err}${out}`);

  async function ok(command: Command, options: RunOptions = {}): Promise<string> {
    const ended = await run(command, options);
    if (ended.code !== 0) throw reported(command, ended);
    return ended.out.trim();
  }

  return {
    dir: () => home.path,
    run,
    ok,
    async fails(command, options) {
      const ended = await run(command, options);
      if (ended.code === 0) throw reported(command, ended);
      return ended.err.trim();
    },
    json: async (command) => JSON.parse(await ok([...wordsOf(command), '-o', 'json'])) as Body,
    table: async (command) => (await ok(command)).split('\n').map((line) => line.trim().split(/ {2,}/)),
    start: (command, env) => watch(startProcess(command, env)),
  };
}

function watch(child: ChildProcess): Watching {
  if (child.stdout === null) throw new Error('the process has no output');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  return {
    async line() {
      const late = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
      const { value, done } = await lines.next();
      clearTimeout(late);
      if (done === true) throw new Error(`it printed no further line: ${errors}`);
      return value.trim().replace(/ {2,}/g, ' ');
    },
    errors: () => errors,
    say: (text) => void child.stdin?.write(text),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    },
  };
}
