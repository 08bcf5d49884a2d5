/** Requests the time of a server without trusting it. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { createDispatcher } from '../api-client/transport.ts';

const TIMEOUT_MS = 5000;

/** Returns the `Date` header of a response, in ms since the epoch; `undefined` without one. Sends no
 *  credentials. */
export async function askServerTime(
  { server, tls, proxyUrl }: Pick<ResolvedClientConfig, 'server' | 'tls' | 'proxyUrl'>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const dispatcher = await createDispatcher({ serverName: tls.serverName, insecure: true, proxyUrl });
  try {
    const { headers, body } = await dispatcher.request({
      origin: new URL(server).origin,
      path: '/version',
      method: 'GET',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    body.on('error', () => undefined);
    body.destroy();
    const { date } = headers;
    const atMs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
    return Number.isNaN(atMs) ? undefined : atMs;
  } catch {
    signal.throwIfAborted();
    return undefined;
  } finally {
    await dispatcher.destroy();
  }
}
