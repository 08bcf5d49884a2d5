/** Requests in JSON to the services of storage systems: short, bounded, without redirects. */
import type { ConnectionOptions } from 'node:tls';
import { VolumeSetupError } from '../setup-error.ts';

export interface JsonAnswer {
  readonly status: number;
  /** Undefined where there is none, or it is no JSON. */
  readonly body: unknown;
}

export interface JsonRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** How the server is known, and the agent to it. */
  readonly tls?: Pick<
    ConnectionOptions,
    'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'checkServerIdentity'
  >;
}

const PATIENCE_MS = 30_000;
const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws VolumeSetupError where the service doesn't answer; the signal's reason */
export async function requestJson(
  { method, url, headers = {}, body, tls = {} }: JsonRequest,
  signal: AbortSignal,
): Promise<JsonAnswer> {
  const { Agent, request } = await import('undici');
  const dispatcher = new Agent({ connect: tls, maxResponseSize: LARGEST_ANSWER_BYTES });
  try {
    const answer = await request(url, {
      method,
      dispatcher,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    });
    return { status: answer.statusCode, body: parse(await answer.body.text()) };
  } catch (thrown) {
    signal.throwIfAborted();
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'no answer';
    // Neither the cause, which may hold the headers, nor more of the address than its host.
    throw new VolumeSetupError(`${url.host} could not be asked: ${code}`);
  } finally {
    await dispatcher.destroy();
  }
}

/** A member of what a service answered. */
export function memberOf(value: unknown, member: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return new Map<string, unknown>(Object.entries(value)).get(member);
}

/** A member of what a service answered, if it is a text. */
export function textOf(value: unknown, member: string): string | undefined {
  const found = memberOf(value, member);
  return typeof found === 'string' ? found : undefined;
}

/** The elements of a list; none of anything else. */
export function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
