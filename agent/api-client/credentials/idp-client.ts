/** One request to an identity provider: over TLS, with limits on time and size, without redirects. */
import type { Dispatcher } from 'undici';
import { OidcError } from '#api/client-config/oidc-token.ts';
import { asError } from '#api/kit/errno.ts';
import { readLimited } from '../read-limited.ts';
import { createDispatcher } from '../transport.ts';
import type { IdpRequest, IdpResponse } from './oidc-credentials.ts';

const TIMEOUT_MS = 30_000;
const LARGEST_RESPONSE_BYTES = 1024 * 1024;

/** @param authority PEM; undefined selects the CAs of the system */
export function createIdpClient(
  authority: string | undefined,
): (request: IdpRequest, signal: AbortSignal) => Promise<IdpResponse> {
  async function send(
    dispatcher: Dispatcher,
    { method, url, headers, body }: IdpRequest,
    signal: AbortSignal,
  ): Promise<IdpResponse> {
    const { request } = await import('undici');
    const response = await request(url, {
      dispatcher,
      method,
      headers: { ...headers },
      signal,
      ...(body === undefined ? {} : { body }),
    });
    const bytes = await readLimited(response.body, LARGEST_RESPONSE_BYTES);
    return { status: response.statusCode, text: bytes.toString('utf8') };
  }

  return async (request, signal) => {
    // Tokens are renewed a few times a day: reusing a connection is not worthwhile.
    const dispatcher = await createDispatcher({ authority, connections: 1 });
    try {
      return await send(dispatcher, request, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
    } catch (thrown) {
      signal.throwIfAborted();
      const cause = asError(thrown);
      throw new OidcError(`${request.url} did not respond: ${cause.message}`, { cause });
    } finally {
      await dispatcher.destroy();
    }
  };
}
