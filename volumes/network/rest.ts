/** Calls of storage services that speak JSON over HTTP. What they answer is bounded in size and time. */
import { asError } from '#api/kit/clock.ts';
import { tidy } from '../programs/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';

export interface RestCall {
  readonly url: string;
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly signal: AbortSignal;
}

/** Performs a call. @throws RestError */
export type Rest = (call: RestCall) => Promise<unknown>;

/** A call that failed. `status` is 0 for one that had no answer. */
export class RestError extends VolumeSetupError {
  readonly status: number;

  constructor(message: string, status: number, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'RestError';
    this.status = status;
  }
}

const TIMEOUT_MS = 60_000;
const LARGEST_ANSWER_BYTES = 1024 * 1024;
const LONGEST_REASON = 300;

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > LARGEST_ANSWER_BYTES) throw new Error('the answer is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** The words of the answer that say what went wrong, as far as it has some. */
function reasonOf(text: string): string {
  return tidy(text).slice(0, LONGEST_REASON);
}

async function send(call: RestCall): Promise<{ readonly status: number; readonly text: string }> {
  const { url, method, headers = {}, body, signal } = call;
  const response = await fetch(url, {
    method,
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  return { status: response.status, text: await readText(response) };
}

/** @returns the answer's JSON; undefined for an empty answer */
export const callRest: Rest = async (call) => {
  const what = `${call.method} ${new URL(call.url).pathname} at ${new URL(call.url).host}`;
  let answer: Awaited<ReturnType<typeof send>>;
  try {
    answer = await send(call);
  } catch (thrown) {
    call.signal.throwIfAborted();
    const cause = asError(thrown);
    const why = cause.cause instanceof Error ? cause.cause.message : cause.message;
    throw new RestError(`${what} failed: ${why}`, 0, { cause });
  }
  const { status, text } = answer;
  if (status >= 400) throw new RestError(`${what} was answered with ${status}: ${reasonOf(text)}`, status);
  try {
    const value: unknown = text.trim() === '' ? undefined : JSON.parse(text);
    return value;
  } catch (cause) {
    throw new RestError(`${what} was answered with something that is no JSON`, status, { cause });
  }
};

/** A member of an answer, where it is text; empty otherwise. */
export function textMember(value: unknown, name: string): string {
  if (typeof value !== 'object' || value === null) return '';
  const member: unknown = Reflect.get(value, name);
  return typeof member === 'string' ? member : '';
}
