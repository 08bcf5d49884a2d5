/** Runner of system programs: by name and arguments, never through a shell, with a small fixed
 *  environment, in its own session that is killed as a whole. Output is bounded and never logged here. */

import { type ChildProcess, spawn } from 'node:child_process';
import { constants as system } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { ProgramOptions, ProgramResult, RunProgram } from './contract.ts';
import { MissingProgramError, ProgramStartError, ProgramTimeoutError } from './errors.ts';
import { PROGRAM_FOLDERS } from './find-program.ts';

const ENVIRONMENT: Readonly<Record<string, string>> = { PATH: PROGRAM_FOLDERS.join(':'), LC_ALL: 'C' };

const MAX_OUTPUT_BYTES = 1024 * 1024;
/** How long to wait for output after the exit of a program whose children still hold its pipes. */
const LEFT_OPEN_MS = 500;

export interface RunProgramOptions {
  /** The program that runs mount programs; `mount` or empty for none.
   *  Source: upstream's flag `--experimental-mounter-path`. */
  readonly mounterPath?: string;
  /** Directories searched before the system's, for tests. */
  readonly folders?: readonly string[];
}

/** Creates the runner of system programs, in the agent's own mount namespace. */
export function createRunProgram({ mounterPath = '', folders = [] }: RunProgramOptions = {}): RunProgram {
  const env = { ...ENVIRONMENT, PATH: [...folders, ...PROGRAM_FOLDERS].join(':') };
  const throughMounter = mounterPath !== '' && mounterPath !== 'mount';
  return (program, args, options) => {
    const mounts = program === 'mount' || program.startsWith('mount.');
    return throughMounter && mounts
      ? runOne(mounterPath, [program, ...args], env, options)
      : runOne(program, args, env, options);
  };
}

async function runOne(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  options: ProgramOptions,
): Promise<ProgramResult> {
  const { signal, timeoutMs, input } = options;
  signal.throwIfAborted();
  const child = start(program, args, { ...env, ...options.env }, input !== undefined);
  const deadline = AbortSignal.timeout(timeoutMs);
  const stopped = AbortSignal.any([signal, deadline]);
  const { promise: stop, reject } = Promise.withResolvers<never>();
  const onStop = (): void => {
    kill(child);
    reject(signal.aborted ? asError(signal.reason) : new ProgramTimeoutError(program, timeoutMs));
  };
  stopped.addEventListener('abort', onStop, { once: true });
  try {
    // A program blocked in the kernel may outlive SIGKILL: do not wait for it.
    return await Promise.race([follow(program, child, input), stop]);
  } finally {
    stopped.removeEventListener('abort', onStop);
  }
}

/** Some failures are thrown synchronously, such as arguments that are too long; others are events. */
function start(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  hasInput: boolean,
): ChildProcess {
  try {
    return spawn(program, [...args], {
      env,
      cwd: '/',
      detached: true,
      stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
  } catch (thrown) {
    throw new ProgramStartError(program, asError(thrown));
  }
}

/** Kills the program's process group and closes our ends of the pipes. */
function kill(child: ChildProcess): void {
  const { stdout, stderr }: { stdout?: Readable | null; stderr?: Readable | null } = child;
  stdout?.destroy();
  stderr?.destroy();
  child.unref();
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The whole group has exited.
  }
}

interface Output {
  readonly text: () => string;
}

function collect(stream: Readable | null | undefined): Output {
  const parts: Buffer[] = [];
  let bytes = 0;
  stream?.on('data', (part: Buffer) => {
    if (bytes >= MAX_OUTPUT_BYTES) return;
    parts.push(part.subarray(0, MAX_OUTPUT_BYTES - bytes));
    bytes += part.length;
  });
  stream?.on('error', () => undefined);
  return { text: () => Buffer.concat(parts).toString('utf8') };
}

async function follow(
  program: string,
  child: ChildProcess,
  input: string | undefined,
): Promise<ProgramResult> {
  // Without free descriptors there is neither a process nor pipes, despite the declared types.
  const { stdin, stdout, stderr }: StreamsOf = child;
  const out = collect(stdout);
  const err = collect(stderr);
  const ended = untilEnded(program, child);
  // A program may exit without reading its input.
  stdin?.on('error', () => undefined);
  stdin?.end(input);
  const code = await ended;
  return { code, stdout: out.text(), stderr: err.text() };
}

interface StreamsOf {
  readonly stdin?: Writable | null;
  readonly stdout?: Readable | null;
  readonly stderr?: Readable | null;
}

function untilEnded(program: string, child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', (error) => {
      const missing = hasCode(error, 'ENOENT');
      reject(missing ? new MissingProgramError(program) : new ProgramStartError(program, error));
    });
    child.on('exit', (code, killedBy) => {
      const exitCode = code ?? 128 + (killedBy === null ? 0 : system.signals[killedBy]);
      // A FUSE daemon may hold the pipes of the program that started it.
      const enough = setTimeout(() => {
        const { stdout, stderr }: StreamsOf = child;
        stdout?.destroy();
        stderr?.destroy();
        resolve(exitCode);
      }, LEFT_OPEN_MS);
      child.on('close', () => {
        clearTimeout(enough);
        resolve(exitCode);
      });
    });
  });
}
