/** Routes of the local socket for the command line of the agent. Only root can open the socket. */

import type { Event, Pod } from '#api/gen/core-v1.ts';
import type { LastingWait } from '#api/kit/waits.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { type EventFilter, matchesFilter } from '../events/recorder.ts';
import type { PodEntry } from '../pods/slot.ts';
import { type LogQuery, parseLogQuery } from './log-query.ts';
import { type ManifestRouteDeps, manifestRoutes } from './manifest-routes.ts';
import { type PodRuntimeRouteDeps, podRuntimeRoutes } from './pod-runtime.ts';
import { podObject, sortPods } from './pod-view.ts';
import type { Route, RouteRequest, RouteResult } from './routes.ts';
import { type StreamRouteDeps, streamRoutes } from './stream-routes.ts';
import { watchEvents, watchPods } from './watch.ts';

export interface LocalApiDeps extends StreamRouteDeps, ManifestRouteDeps, PodRuntimeRouteDeps {
  readonly pods: () => readonly PodEntry[];
  readonly findPod: (namespace: string, name: string) => PodEntry | undefined;
  /** Conditions that the agent is waiting for. */
  readonly waits: () => readonly LastingWait[];
  readonly events: (filter: EventFilter) => readonly Event[];
  /** Returns the bytes of a container log. @throws StatusError when there is no such log */
  readonly logs: (
    entry: PodEntry,
    query: LogQuery,
    signal: AbortSignal,
  ) => Promise<AsyncIterable<Uint8Array>>;
  /** Adds an ephemeral container, given as JSON or YAML, to a running pod. @throws StatusError */
  readonly addEphemeralContainer: (entry: PodEntry, text: string, signal: AbortSignal) => Promise<PodEntry>;
  /** The configuration in the form that `--config` accepts. */
  readonly config: () => unknown;
  /** Resource usage of the node and its pods. */
  readonly summary: () => Promise<unknown>;
  /** Pressure conditions of the node. */
  readonly pressure: () => Iterable<string>;
  /** Every setting with its value and origin as text. */
  readonly settings: () => readonly object[];
  /** Calls the listener whenever a pod may have changed. @returns a function that ends the subscription */
  readonly onPodChange: (listener: () => void) => () => void;
  readonly onEvent: (listener: (event: Event) => void) => () => void;
  readonly version: () => Promise<unknown>;
}

const json = (value: unknown): RouteResult => ({ kind: 'json', value });
const stream = (chunks: AsyncIterable<Uint8Array>): RouteResult => ({
  kind: 'stream',
  chunks,
  contentType: 'application/json; stream=watch',
});

export function localApiRoutes(deps: LocalApiDeps): readonly Route[] {
  function entryOf({ params }: RouteRequest): PodEntry {
    const { namespace = '', name = '' } = params;
    const entry = deps.findPod(namespace, name);
    if (entry === undefined)
      throw new StatusError('NotFound', `pods ${JSON.stringify(name)} not found in namespace ${namespace}`);
    return entry;
  }

  return [
    {
      method: 'GET',
      path: '/pods',
      handle: ({ query, signal }) => {
        const list = (): readonly Pod[] => sortPods(deps.pods().map(podObject));
        if (query.get('watch') === 'true') {
          return stream(watchPods({ list, onChange: deps.onPodChange }, signal));
        }
        return json({ apiVersion: 'v1', kind: 'PodList', metadata: {}, items: list() });
      },
    },
    { method: 'GET', path: '/pods/:namespace/:name', handle: (request) => json(podObject(entryOf(request))) },
    {
      method: 'GET',
      path: '/events',
      handle: ({ query, signal }) => {
        const filter = eventFilter(query);
        const list = (): readonly Event[] => deps.events(filter);
        if (query.get('watch') !== 'true') return json(eventList(list()));
        const isWanted = (event: Event): boolean => matchesFilter(event, filter);
        return stream(watchEvents({ list, onEvent: deps.onEvent, isWanted }, signal));
      },
    },
    ...manifestRoutes(deps),
    {
      method: 'GET',
      path: '/containerLogs/:namespace/:name/:container',
      handle: async (request) => {
        const query = parseLogQuery(request.params['container'] ?? '', request.query);
        const chunks = await deps.logs(entryOf(request), query, request.signal);
        return { kind: 'stream', chunks, contentType: 'text/plain; charset=utf-8' };
      },
    },
    ...streamRoutes(deps, entryOf),
    {
      method: 'POST',
      path: '/pods/:namespace/:name/ephemeralcontainers',
      handle: async (request) => {
        const text = await request.body();
        return json(podObject(await deps.addEphemeralContainer(entryOf(request), text, request.signal)));
      },
    },
    ...podRuntimeRoutes(deps, entryOf),
    { method: 'GET', path: '/config', handle: () => json({ settings: deps.settings() }) },
    { method: 'GET', path: '/stats/summary', handle: async () => json(await deps.summary()) },
    {
      method: 'GET',
      path: '/pressure',
      handle: () => Promise.resolve(json({ conditions: [...deps.pressure()] })),
    },
    { method: 'GET', path: '/waits', handle: () => json({ items: deps.waits() }) },
    { method: 'GET', path: '/configz', handle: () => json(deps.config()) },
    { method: 'GET', path: '/version', handle: async () => json(await deps.version()) },
    { method: 'GET', path: '/healthz', handle: () => ({ kind: 'text', text: 'ok' }) },
  ];
}

const eventList = (items: readonly Event[]): object => ({
  apiVersion: 'v1',
  kind: 'EventList',
  metadata: {},
  items,
});

function eventFilter(query: URLSearchParams): EventFilter {
  const pick = (key: 'kind' | 'namespace' | 'name' | 'uid' | 'reason') => {
    const value = query.get(key);
    return value === null ? {} : { [key]: value };
  };
  return { ...pick('kind'), ...pick('namespace'), ...pick('name'), ...pick('uid'), ...pick('reason') };
}
