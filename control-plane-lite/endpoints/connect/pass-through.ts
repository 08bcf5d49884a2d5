/** `proxy` subresources: forwards the path after the subresource to the target and its response to the
 *  client. */
import type { Agent } from 'node:https';
import type { Clock } from '#api/kit/clock.ts';
import type { Target } from '../../agents/agents.ts';
import type { ApiRequest, ApiResponse } from '../../http/contract.ts';
import { proxyRequest } from '../../http/proxy/proxy.ts';
import { splitTarget } from '../../http/request/request-info.ts';

export interface PassThroughDeps {
  readonly clock: Clock;
  /** Domain of the API groups. */
  readonly domain: string;
  readonly connectTimeoutMs: number;
}

/** Returns the path as this server parsed it, encoded again. */
const encodePath = (path: string): string => encodeURI(path).replaceAll('?', '%3F').replaceAll('#', '%23');

function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}?${query}`;
}

/** Returns the request's path up to and including the subresource, without a trailing slash. */
function ownPath({ info }: ApiRequest): string {
  const { path, rest } = info;
  const own = rest === '' ? path : path.slice(0, path.length - rest.length);
  return own.endsWith('/') ? own.slice(0, -1) : own;
}

/** Rewrites redirects so that a browser stays behind this server. */
export function rewriteLocation(location: string, prefix: string, targetHost: string): string {
  const url = URL.parse(location, `http://${targetHost}`);
  if (url === null || url.host !== targetHost) return location;
  if (!location.startsWith('/') && !/^https?:/i.test(location)) return location;
  // The target knows this server's address and has redirected correctly itself.
  if (url.pathname === prefix || url.pathname.startsWith(`${prefix}/`))
    return url.pathname + url.search + url.hash;
  return `${encodePath(prefix)}${url.pathname}${url.search}${url.hash}`;
}

/** Escapes the prefix for an attribute, whatever quotes surround it. */
const linkPrefix = (prefix: string): string =>
  encodePath(prefix).replaceAll("'", '%27').replaceAll('&', '%26');

/** Hosts that refer to the target in its pages: its own, and this server as the client addresses it. */
function hostsOf(targetHost: string, ownHost: string | undefined): readonly string[] {
  const hosts = [targetHost, ...(ownHost === undefined ? [] : [ownHost])].map((host) => host.toLowerCase());
  return hosts.flatMap((host) => [host, ...(/:(?:80|443)$/.test(host) ? [host.replace(/:\d+$/, '')] : [])]);
}

/** Redirects a path without a trailing slash: relative links of its page would resolve one level too high. */
function toDirectory(request: ApiRequest): ApiResponse | undefined {
  const { info, method } = request;
  if (info.rest !== '' || info.path.endsWith('/') || (method !== 'GET' && method !== 'HEAD'))
    return undefined;
  return {
    kind: 'bytes',
    status: 301,
    contentType: 'text/plain',
    body: Buffer.alloc(0),
    headers: { Location: withQuery(`${encodePath(info.path)}/`, request.query.toString()) },
  };
}

/** @param path of the target, decoded; empty for its root
 *  @param agent pools connections; absent: one connection per request */
export function passThrough(
  deps: PassThroughDeps,
  request: ApiRequest,
  target: Target,
  path: string,
  agent?: Agent,
): ApiResponse {
  const toOwn = toDirectory(request);
  if (toOwn !== undefined) return toOwn;
  const { host, port, tls } = target;
  const prefix = ownPath(request);
  const targetHost = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return {
    kind: 'raw',
    run(raw) {
      const { query } = splitTarget(raw.message.url ?? '/');
      return proxyRequest(request, {
        target: { host, port, path: withQuery(encodePath(path.startsWith('/') ? path : `/${path}`), query) },
        ...(tls === undefined ? {} : { tls }),
        ...(agent === undefined ? {} : { agent }),
        headers: {
          // The target sees this server's client certificate; it must not judge by the origin of the client's
          // page.
          ...(tls?.cert === undefined ? {} : { Origin: [] }),
          'X-Forwarded-Host': request.headers.host ?? '',
          'X-Forwarded-Proto': 'https',
          'X-Forwarded-Uri': encodePath(request.info.path),
        },
        clock: deps.clock,
        domain: deps.domain,
        connectTimeoutMs: deps.connectTimeoutMs,
        remoteAddress: raw.message.socket.remoteAddress ?? '',
        rewriteLocation: (location) => rewriteLocation(location, prefix, targetHost),
        rewriteLinks: { prefix: linkPrefix(prefix), hosts: hostsOf(targetHost, request.headers.host) },
      }).run(raw);
    },
  };
}
