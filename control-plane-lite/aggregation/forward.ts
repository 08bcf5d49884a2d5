/** Forwards requests to aggregated servers with the identity of the user. */
import type { Agent } from 'node:https';
import type { Clock } from '#api/kit/clock.ts';
import type { Waits } from '#api/kit/waits.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Identity } from '#api/pki/certificate.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import { proxyRequest } from '../http/proxy/proxy.ts';
import { isLongRunning, splitTarget } from '../http/request/request-info.ts';
import type { RemoteApi } from './api-services.ts';
import { remoteTls, serverOf, type Way } from './remote-server.ts';
import { userHeaders } from './user-headers.ts';

export interface ForwardDeps {
  readonly findWay: (api: RemoteApi) => Way;
  /** This server's, by the authority for request headers. */
  readonly identity: () => Identity;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Domain of the API groups. */
  readonly domain: string;
  readonly responseTimeoutMs: number;
  /** Reports slow servers. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
}

/** The path as this server read it, so that the other one reads nothing else than what was allowed; the query as the
 *  client sent it. */
export function targetPath(path: string, target: string): string {
  const { query } = splitTarget(target);
  const encoded = encodeURI(path).replaceAll('?', '%3F').replaceAll('#', '%23');
  return query === '' ? encoded : `${encoded}?${query}`;
}

/** @throws StatusError ServiceUnavailable, Forbidden */
export function forwardTo(deps: ForwardDeps, api: RemoteApi, request: ApiRequest): ApiResponse {
  if (!api.available) throw new StatusError('ServiceUnavailable', 'service unavailable');
  const way = deps.findWay(api);
  if (way.kind === 'unreachable') throw new StatusError('ServiceUnavailable', way.message);
  const headers = userHeaders(request.user);
  const tls = remoteTls(api, deps.identity());
  const { waits } = deps;
  const awaited = waits === undefined ? {} : { awaited: { waits, what: serverOf(api) } };
  return {
    kind: 'raw',
    run: (raw) =>
      proxyRequest(request, {
        target: { ...way.address, path: targetPath(request.info.path, raw.message.url ?? '/') },
        tls,
        headers,
        agent: deps.agent,
        clock: deps.clock,
        domain: deps.domain,
        remoteAddress: raw.message.socket.remoteAddress ?? '',
        refuseRedirects: true,
        ...awaited,
        ...(isLongRunning(request.info) ? {} : { responseTimeoutMs: deps.responseTimeoutMs }),
      }).run(raw),
  };
}
