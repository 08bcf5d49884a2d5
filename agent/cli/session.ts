/** A streaming session between this process's streams and a process in a container. */
import { sleep } from '#api/kit/clock.ts';
import { RemoteCommandError, StreamingError } from '#cri/streaming/errors.ts';
import { execStream } from '#cri/streaming/remote-command.ts';
import type { RemoteCommandResult } from '#cri/streaming/session.ts';
import { isPlainObject, textMember } from './answers.ts';
import { ApiError, type ApiRequest, type LocalApi } from './api-client.ts';
import type { CliContext } from './context.ts';
import { detachOnKey } from './detach-key.ts';
import { CommandError } from './errors.ts';

/** The streams that a person asked for. */
export interface SessionStreams {
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** A terminal at the other end needs one at this end, but for a command that reads nothing. */
export async function chooseStreams(
  { stdin, tty }: SessionStreams,
  { input, err }: Pick<CliContext, 'input' | 'err'>,
): Promise<SessionStreams> {
  const usable = tty && (input.isTerminal || !stdin);
  if (tty && !usable) await err.write('standard input is no terminal: the command gets none either\n');
  return { stdin, tty: usable };
}

/** The address that the agent gives for a session. @throws AgentUnreachableError, ApiError */
export async function fetchSessionUrl(api: LocalApi, request: ApiRequest): Promise<string> {
  const answer = await api.json({ ...request, method: 'POST' });
  const url = isPlainObject(answer) ? textMember(answer, 'url') : '';
  if (url === '') throw new ApiError(200, 'BadAnswer', 'the agent gave no address for the streams');
  return url;
}

export interface Session extends SessionStreams {
  readonly url: string;
  /** Whether it is with a process that runs already. The person at the terminal can leave it while that goes on. */
  readonly joins: boolean;
  /** The failure in words, such as `the command could not be run`. */
  readonly failure: string;
}

/** Runtimes join a process that runs with its input first: what it answered before its output was joined would be lost.
 *  They don't tell when that is done. */
const JOINED_AFTER_MS = 100;

async function* onceJoined(
  keys: AsyncIterable<Uint8Array>,
  { clock, signal }: Pick<CliContext, 'clock' | 'signal'>,
): AsyncGenerator<Uint8Array> {
  await sleep(clock, JOINED_AFTER_MS, signal);
  yield* keys;
}

/** @throws CommandError when the runtime fails the session */
export async function runSession(
  { url, stdin, tty, joins, failure }: Session,
  { out, err, input, clock, signal }: Pick<CliContext, 'out' | 'err' | 'input' | 'clock' | 'signal'>,
): Promise<RemoteCommandResult> {
  using terminal = tty && stdin ? input.takeTerminal() : undefined;
  const detach = new AbortController();
  const read = stdin ? input.read() : undefined;
  const keys = read !== undefined && joins ? onceJoined(read, { clock, signal }) : read;
  try {
    return await execStream(url, {
      stdin: keys !== undefined && tty && joins ? detachOnKey(keys, detach) : keys,
      stdout: (chunk) => out.write(chunk),
      stderr: tty ? undefined : (chunk) => err.write(chunk),
      tty,
      resize: terminal?.resize,
      signal,
      detach: detach.signal,
    });
  } catch (cause) {
    // Anything else, such as an output that nobody reads any more, is not the runtime's.
    const isRuntime = cause instanceof StreamingError || cause instanceof RemoteCommandError;
    throw isRuntime ? new CommandError(failure, { cause }) : cause;
  } finally {
    input.close();
  }
}
