/** Runs a command in a container without a terminal, for other commands. */
import type { Pod } from '#api/gen/core-v1.ts';
import { RemoteCommandError, StreamingError } from '#cri/streaming/errors.ts';
import { execStream } from '#cri/streaming/remote-command.ts';
import type { CommandContext } from '../command.ts';
import { CommandError } from '../errors.ts';
import { fetchSessionUrl } from './session.ts';

export interface PodCommand {
  readonly pod: Pod;
  readonly container: string | undefined;
  readonly argv: readonly string[];
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly stdout?: (chunk: Uint8Array) => Promise<void>;
  readonly signal?: AbortSignal;
}

export interface PodCommandResult {
  readonly exitCode: number;
  /** End of the error output. */
  readonly errors: string;
}

const MOST_ERROR_BYTES = 4096;

/** @throws CommandError when the command cannot be started */
export async function runInPod(
  { pod, container, argv, stdin, stdout, signal }: PodCommand,
  context: CommandContext,
): Promise<PodCommandResult> {
  const { namespace = '', name = '' } = pod.metadata ?? {};
  const limit = signal === undefined ? context.signal : AbortSignal.any([signal, context.signal]);
  const url = await fetchSessionUrl(context.api, {
    path: ['exec', namespace, name],
    query: { container, command: argv, stdin: String(stdin !== undefined), tty: 'false' },
    signal: limit,
  });
  let errors = '';
  try {
    const { exitCode } = await execStream(url, {
      stdin,
      stdout: stdout ?? (() => Promise.resolve()),
      stderr: (chunk) => {
        errors = (errors + Buffer.from(chunk).toString('utf8')).slice(-MOST_ERROR_BYTES);
        return Promise.resolve();
      },
      tty: false,
      resize: undefined,
      signal: limit,
    });
    return { exitCode, errors: errors.trim() };
  } catch (cause) {
    const isRuntime = cause instanceof StreamingError || cause instanceof RemoteCommandError;
    throw isRuntime ? new CommandError(`cannot run ${argv[0]} in the container`, { cause }) : cause;
  }
}
