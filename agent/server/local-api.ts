/** Routes of the local socket for the command line of the agent. Only root can open the socket. */

import type { Event, Pod } from '#api/gen/core-v1.ts';
import { type Int64, int64Of, parseInt64 } from '#api/kit/int64.ts';
import type { LastingWait } from '#api/kit/waits.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { type EventFilter, matchesFilter } from '../events/recorder.ts';
import type { PodEntry } from '../pods/slot.ts';
import type { ApplyResult, DeleteRequest } from '../sources/applied/applied.ts';
import type { ConfigObject, DesiredState } from '../sources/types.ts';
import { type LogQuery, parseLogQuery } from './log-query.ts';
import { podObject, sortPods } from './pod-view.ts';
import type { Route, RouteRequest, RouteResult } from './routes.ts';
import { type StreamRouteDeps, streamRoutes } from './stream-routes.ts';
import { watchEvents, watchPods } from './watch.ts';

export interface LocalApiDeps extends StreamRouteDeps {
  readonly pods: () => readonly PodEntry[];
  readonly findPod: (namespace: string, name: string) => PodEntry | undefined;
  /** Conditions that the agent is waiting for. */
  readonly waits: () => readonly LastingWait[];
  readonly events: (filter: EventFilter) => readonly Event[];
  readonly objects: () => readonly ConfigObject[];
  readonly desired: () => DesiredState;
  readonly apply: (text: string) => Promise<readonly ApplyResult[]>;
  /** Location of the manifest of another source that defines the object. */
  readonly placeOf: (request: DeleteRequest) => string | undefined;
  readonly remove: (request: DeleteRequest, gracePeriodSeconds: Int64 | undefined) => Promise<boolean>;
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
    { method: 'GET', path: '/objects', handle: () => json({ items: deps.objects().map(withoutSecretData) }) },
    {
      method: 'GET',
      path: '/manifests/problems',
      handle: () => {
        const { rejected, conflicts } = deps.desired();
        return json({ rejected, conflicts });
      },
    },
    {
      method: 'POST',
      path: '/apply',
      handle: async ({ body }) => json({ results: await deps.apply(await body()) }),
    },
    { method: 'DELETE', path: '/:kind/:namespace/:name', handle: (request) => remove(deps, request) },
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

/** Secrets are listed by name; their content is not exposed. */
function withoutSecretData(object: ConfigObject): object {
  if (object.kind !== 'Secret') return object;
  return { apiVersion: 'v1', kind: 'Secret', metadata: object.metadata, type: object.type };
}

async function remove(deps: LocalApiDeps, { params, query }: RouteRequest): Promise<RouteResult> {
  const { kind = '', namespace = '', name = '' } = params;
  const grace = query.get('gracePeriodSeconds');
  const exact = grace === null ? undefined : parseInt64(grace);
  if (grace !== null && (exact === undefined || exact < 0n)) {
    throw new StatusError(
      'BadRequest',
      `gracePeriodSeconds: ${JSON.stringify(grace)} is not an integer number of seconds`,
    );
  }
  const seconds = exact === undefined ? undefined : int64Of(exact);
  const removed = await deps.remove({ kind, namespace, name }, seconds);
  const place = removed ? undefined : deps.placeOf({ kind, namespace, name });
  if (place !== undefined) {
    const message = `it comes from ${place}, not from apply: remove it there`;
    throw new StatusError('Conflict', message);
  }
  if (!removed) {
    throw new StatusError('NotFound', `${kind} ${namespace}/${name} was not applied through this socket`);
  }
  return json({ removed: `${kind} ${namespace}/${name}` });
}
