/** JSON requests to the services of storage systems: short, bounded, without redirects. */

import type { ConnectionOptions } from 'node:tls';
import { errorCode } from '#api/kit/errno.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

export interface JsonResponse {
  readonly status: number;
  /** Undefined if it is empty or invalid JSON. */
  readonly body: unknown;
}

export interface JsonRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** TLS settings for mutual authentication. */
  readonly tls?: Pick<
    ConnectionOptions,
    'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'checkServerIdentity'
  >;
}

const TIMEOUT_MS = 30_000;
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws VolumeSetupError if the service does not respond; the signal's reason */
export async function requestJson(
  { method, url, headers = {}, body, tls = {} }: JsonRequest,
  signal: AbortSignal,
): Promise<JsonResponse> {
  const { Agent, request } = await import('undici');
  const dispatcher = new Agent({ connect: tls, maxResponseSize: MAX_RESPONSE_BYTES });
  try {
    const response = await request(url, {
      method,
      dispatcher,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    return { status: response.statusCode, body: parse(await response.body.text()) };
  } catch (thrown) {
    signal.throwIfAborted();
    const code = errorCode(thrown) ?? 'no response';
    // Neither the cause, which may contain the headers, nor more of the URL than its host.
    throw new VolumeSetupError(`request to ${url.host} failed: ${code}`);
  } finally {
    await dispatcher.destroy();
  }
}

/** Returns a member of a response. */
export function memberOf(value: unknown, member: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return new Map<string, unknown>(Object.entries(value)).get(member);
}

/** Returns a member of a response if it is a string. */
export function textOf(value: unknown, member: string): string | undefined {
  const found = memberOf(value, member);
  return typeof found === 'string' ? found : undefined;
}

/** Returns the elements of a list; empty for anything else. */
export function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
