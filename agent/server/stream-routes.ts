/** Routes that create a streaming session: each responds with the address of its streams on the runtime. */
import { StatusError } from '#api/meta/status-error.ts';
import type { PodEntry } from '../pods/slot.ts';
import type { Route, RouteRequest, RouteResult } from './routes.ts';

export interface AttachQuery {
  readonly container: string | undefined;
  readonly stdin: boolean;
  readonly tty: boolean;
}

export interface ExecQuery extends AttachQuery {
  readonly command: readonly string[];
}

export interface StreamRouteDeps {
  /** Returns the address of the streams of a command. @throws StatusError */
  readonly exec: (entry: PodEntry, request: ExecQuery) => Promise<string>;
  /** Returns the address of the streams of the main process of the container. @throws StatusError */
  readonly attach: (entry: PodEntry, request: AttachQuery) => Promise<string>;
  /** Returns the address of a connection to a port of the pod. @throws StatusError */
  readonly portForward: (entry: PodEntry, port: number) => Promise<string>;
}

/** @param entryOf returns the pod of a request */
export function streamRoutes(
  { exec, attach, portForward }: StreamRouteDeps,
  entryOf: (request: RouteRequest) => PodEntry,
): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/exec/:namespace/:name',
      handle: async (request) => address(await exec(entryOf(request), execQuery(request.query))),
    },
    {
      method: 'POST',
      path: '/attach/:namespace/:name',
      handle: async (request) => address(await attach(entryOf(request), attachQuery(request.query))),
    },
    {
      method: 'POST',
      path: '/portForward/:namespace/:name/:port',
      handle: async (request) => address(await portForward(entryOf(request), portOf(request))),
    },
  ];
}

const address = (url: string): RouteResult => ({ kind: 'json', value: { url } });

const attachQuery = (query: URLSearchParams): AttachQuery => ({
  container: query.get('container') ?? undefined,
  stdin: query.get('stdin') === 'true',
  tty: query.get('tty') === 'true',
});

function execQuery(query: URLSearchParams): ExecQuery {
  const command = query.getAll('command');
  if (command.length === 0) throw new StatusError('BadRequest', 'command: at least one word is needed');
  return { ...attachQuery(query), command };
}

function portOf({ params }: RouteRequest): number {
  const text = params['port'] ?? '';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new StatusError('BadRequest', `port: ${JSON.stringify(text)} is not a number from 1 to 65535`);
}
