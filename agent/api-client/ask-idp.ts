/** One request to an identity provider: over TLS, with limits on time and size, without redirects. */
import type { Dispatcher } from 'undici';
import { OidcError } from '#api/client-config/oidc-token.ts';
import { asError } from '#api/kit/clock.ts';
import type { IdpAnswer, IdpRequest } from './oidc-credentials.ts';
import { readLimited } from './read-limited.ts';
import { createDispatcher } from './transport.ts';

const TIMEOUT_MS = 30_000;
const LARGEST_ANSWER_BYTES = 1024 * 1024;

/** @param authority PEM; undefined means the authorities of the system */
export function createAskIdp(
  authority: string | undefined,
): (request: IdpRequest, signal: AbortSignal) => Promise<IdpAnswer> {
  async function send(
    dispatcher: Dispatcher,
    { method, url, headers, body }: IdpRequest,
    signal: AbortSignal,
  ): Promise<IdpAnswer> {
    const { request } = await import('undici');
    const answer = await request(url, {
      dispatcher,
      method,
      headers: { ...headers },
      signal,
      ...(body === undefined ? {} : { body }),
    });
    const bytes = await readLimited(answer.body, LARGEST_ANSWER_BYTES);
    return { status: answer.statusCode, text: bytes.toString('utf8') };
  }

  return async (request, signal) => {
    // Tokens are renewed a few times a day: no connection is worth keeping.
    const dispatcher = await createDispatcher({ authority, connections: 1 });
    try {
      return await send(dispatcher, request, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
    } catch (thrown) {
      signal.throwIfAborted();
      const cause = asError(thrown);
      throw new OidcError(`${request.url} did not answer: ${cause.message}`, { cause });
    } finally {
      await dispatcher.destroy();
    }
  };
}
