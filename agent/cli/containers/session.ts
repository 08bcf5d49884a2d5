/** Streaming session between the streams of this process and a process in a container. */

import { sleep } from '#api/kit/clock.ts';
import { isObject } from '#api/kit/object.ts';
import { RemoteCommandError, StreamingError } from '#cri/streaming/errors.ts';
import { execStream } from '#cri/streaming/remote-command.ts';
import type { RemoteCommandResult } from '#cri/streaming/session.ts';
import { detachOnKey } from '../args/detach-key.ts';
import { ApiError, type ApiRequest, type LocalApi } from '../client/api-client.ts';
import { textMember } from '../client/responses.ts';
import type { CliContext } from '../context.ts';
import { CommandError } from '../errors.ts';

/** Streams requested by the user. */
export interface SessionStreams {
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** A remote terminal requires a local one, except for a command that reads no input. */
export async function chooseStreams(
  { stdin, tty }: SessionStreams,
  { input, err }: Pick<CliContext, 'input' | 'err'>,
): Promise<SessionStreams> {
  const usable = tty && (input.isTerminal || !stdin);
  if (tty && !usable) await err.write('standard input is not a terminal; no terminal is allocated\n');
  return { stdin, tty: usable };
}

/** Requests the address of the streams of a session. @throws AgentUnreachableError, ApiError */
export async function fetchSessionUrl(api: LocalApi, request: ApiRequest): Promise<string> {
  const response = await api.json({ ...request, method: 'POST' });
  const url = isObject(response) ? textMember(response, 'url') : '';
  if (url === '')
    throw new ApiError(200, 'BadResponse', 'the response of the agent has no address for the streams');
  return url;
}

export interface Session extends SessionStreams {
  readonly url: string;
  /** The process already runs. The user can detach from it while it keeps running. */
  readonly joins: boolean;
  /** The failure, such as `cannot run the command`. */
  readonly failure: string;
}

/** Runtimes connect the input of a running process first: output before its output is connected would be
 *  lost.
 *  They do not report when that is done. */
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
    // Any other failure, such as output with a closed reader, does not come from the runtime.
    const isRuntime = cause instanceof StreamingError || cause instanceof RemoteCommandError;
    throw isRuntime ? new CommandError(failure, { cause }) : cause;
  } finally {
    input.close();
  }
}
