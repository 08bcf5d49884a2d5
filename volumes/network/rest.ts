/** Client of storage services with JSON over HTTP. Responses are limited in size and time. */
import { asError } from '#api/kit/errno.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { tidy } from '../programs/errors.ts';

export interface RestCall {
  readonly url: string;
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly signal: AbortSignal;
}

/** Sends a request. @throws RestError */
export type Rest = (call: RestCall) => Promise<unknown>;

/** A failed request. `status` is 0 if there was no response. */
export class RestError extends VolumeSetupError {
  readonly status: number;

  constructor(message: string, status: number, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'RestError';
    this.status = status;
  }
}

const TIMEOUT_MS = 60_000;
const MAX_RESPONSE_BYTES = 1024 * 1024;
const MAX_REASON_LENGTH = 300;

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > MAX_RESPONSE_BYTES) throw new Error('the response is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Returns the error message in the response body, if it has one. */
function reasonOf(text: string): string {
  return tidy(text).slice(0, MAX_REASON_LENGTH);
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

/** @returns the JSON of the response; undefined for an empty body */
export const callRest: Rest = async (call) => {
  const what = `${call.method} ${new URL(call.url).pathname} at ${new URL(call.url).host}`;
  let response: Awaited<ReturnType<typeof send>>;
  try {
    response = await send(call);
  } catch (thrown) {
    call.signal.throwIfAborted();
    const cause = asError(thrown);
    const why = cause.cause instanceof Error ? cause.cause.message : cause.message;
    throw new RestError(`${what} failed: ${why}`, 0, { cause });
  }
  const { status, text } = response;
  if (status >= 400) throw new RestError(`${what} returned status ${status}: ${reasonOf(text)}`, status);
  try {
    const value: unknown = text.trim() === '' ? undefined : JSON.parse(text);
    return value;
  } catch (cause) {
    throw new RestError(`${what} returned invalid JSON`, status, { cause });
  }
};

/** Returns a member of a response if it is a string; otherwise an empty string. */
export function textMember(value: unknown, name: string): string {
  if (typeof value !== 'object' || value === null) return '';
  const member: unknown = Reflect.get(value, name);
  return typeof member === 'string' ? member : '';
}
