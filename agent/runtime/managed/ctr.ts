/** Calls of containerd's program `ctr` for what the runtime interface cannot do: archives of images. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { findProgram } from './programs.ts';

const run = promisify(execFile);

/** Most bytes of a response of ctr. */
const MOST_OUTPUT = 16 * 1024 * 1024;

export interface ContainerdClientOptions {
  readonly socketPath: string;
  readonly signal?: AbortSignal;
}

export interface ContainerdClient {
  /** Names of the stored images. */
  imageNames(): Promise<readonly string[]>;
  /** Imports an archive, compressed or not. @returns the names of its images */
  importArchive(path: string): Promise<readonly string[]>;
  /** Imports an archive from a stream. */
  importStream(stream: AsyncIterable<Uint8Array>): Promise<readonly string[]>;
  /** Yields an archive with the images. @throws ContainerdClientError when ctr fails */
  exportImages(names: readonly string[]): AsyncGenerator<Uint8Array>;
}

/** ctr failed; the message is its error output. */
class ContainerdClientError extends Error {
  override readonly name = 'ContainerdClientError';
}

/** @throws MissingProgramError */
export async function createContainerdClient({
  socketPath,
  signal,
}: ContainerdClientOptions): Promise<ContainerdClient> {
  const ctr = await findProgram('ctr', 'containerd');
  const common = ['--address', socketPath, '--namespace', CONTAINERD_CRI_NAMESPACE];
  const abort = signal === undefined ? {} : { signal };

  async function call(args: readonly string[]): Promise<string> {
    try {
      const { stdout } = await run(ctr, [...common, ...args], { maxBuffer: MOST_OUTPUT, ...abort });
      return stdout;
    } catch (cause) {
      signal?.throwIfAborted();
      throw new ContainerdClientError(failureText(cause), { cause });
    }
  }

  return {
    async imageNames() {
      const text = await call(['images', 'list', '-q']);
      return text.split('\n').filter((line) => line !== '');
    },
    importArchive: async (path) => importedNames(await call(['images', 'import', path])),
    async importStream(stream) {
      const child = spawn(ctr, [...common, 'images', 'import', '-'], { stdio: 'pipe', ...abort });
      const output = { out: '', err: '' };
      child.stdout.on(
        'data',
        (chunk: Buffer) => (output.out += chunk.toString('utf8').slice(0, MOST_OUTPUT)),
      );
      child.stderr.on(
        'data',
        (chunk: Buffer) => (output.err = (output.err + chunk.toString('utf8')).slice(-4096)),
      );
      const closed = once(child, 'close');
      // If ctr ends early, its failure matters, not that of the pipe.
      const [fed, ended] = await Promise.allSettled([pipeline(stream, child.stdin), closed]);
      signal?.throwIfAborted();
      if (ended.status === 'rejected') throw new ContainerdClientError('ctr failed', { cause: ended.reason });
      if (child.exitCode !== 0) throw new ContainerdClientError(output.err.trim() || 'ctr failed');
      if (fed.status === 'rejected')
        throw new ContainerdClientError('cannot read the archive', { cause: fed.reason });
      return importedNames(output.out);
    },
    async *exportImages(names) {
      const child = spawn(ctr, [...common, 'images', 'export', '-', ...names], { stdio: 'pipe', ...abort });
      child.stdin.end();
      let errors = '';
      child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString('utf8')).slice(-4096)));
      const closed = once(child, 'close');
      closed.catch(() => undefined);
      for await (const chunk of child.stdout) if (chunk instanceof Uint8Array) yield chunk;
      await closed;
      if (child.exitCode !== 0) throw new ContainerdClientError(errors.trim() || 'ctr failed');
    },
  };
}

function failureText(cause: unknown): string {
  const text: unknown =
    typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'stderr') : undefined;
  return typeof text === 'string' && text.trim() !== '' ? text.trim().slice(-4096) : 'ctr failed';
}

/** Parses `unpacking docker.io/local/busybox:1 (sha256:…)...done`. */
const importedNames = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => /^unpacking (\S+) /.exec(line)?.[1] ?? []);
