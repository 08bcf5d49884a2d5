/** A whole server on a loopback port, for tests. */
import { systemClock } from '#api/kit/clock.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { createMetricsRegistry, type MetricsRegistry } from '#api/kit/metrics.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { AuthenticationRequest } from '../authn/contract.ts';
import type { TestCertificate } from './certificates.fixture.ts';
import type { ApiRequest, BytesResponse, Handler } from './contract.ts';
import { type ApiServer, type ApiServerDeps, type ApiServerOptions, createApiServer } from './server.ts';

export interface TestServer extends AsyncDisposable {
  readonly server: ApiServer;
  readonly port: number;
  readonly url: string;
  readonly registry: MetricsRegistry;
  /** The requests that the authenticator received. */
  readonly authentications: readonly AuthenticationRequest[];
}

export interface TestServerOptions {
  readonly deps?: Partial<ApiServerDeps>;
  readonly options?: Partial<ApiServerOptions>;
  readonly certificate?: TestCertificate;
  readonly resources?: Handler;
  readonly log?: Logger;
}

export function jsonResponse(value: unknown, status = 200): BytesResponse {
  return { kind: 'bytes', status, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) };
}

/** Echoes the handler's view of its request. */
export function echo(request: ApiRequest): BytesResponse {
  return jsonResponse({ info: request.info, user: request.user.name, query: String(request.query) });
}

/** Accepts `Bearer NAME` for user NAME and no token for `anonymous`; `bad` is rejected, and `forbidden` is
 *  denied everything. */
export async function startTestServer(given: TestServerOptions = {}): Promise<TestServer> {
  const authentications: AuthenticationRequest[] = [];
  const registry = createMetricsRegistry();
  const deps: ApiServerDeps = {
    clock: systemClock,
    log: given.log ?? silentLogger,
    vocabulary: VOCABULARIES.plat,
    registry,
    authenticate(request) {
      authentications.push(request);
      const name = request.bearerToken ?? 'anonymous';
      if (name === 'bad') return { kind: 'rejected', message: 'a bad token' };
      return { kind: 'user', user: { name, groups: [], extra: {} } };
    },
    authorize: ({ user }) =>
      user.name === 'forbidden' ? { effect: 'none', reason: '' } : { effect: 'allow', reason: '' },
    routes: [{ path: '/version', methods: ['GET'], handler: () => jsonResponse({ minor: '24' }) }],
    resources: given.resources ?? echo,
    ...given.deps,
  };
  const options: ApiServerOptions = {
    ...(given.certificate === undefined ? {} : { tls: given.certificate }),
    ...given.options,
  };
  const server = createApiServer(deps, options);
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    server,
    port,
    url: `${given.certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    registry,
    authentications,
    [Symbol.asyncDispose]: () => server.close({ drainMs: 0 }),
  };
}
