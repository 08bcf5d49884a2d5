/** The routes of the local socket: what the agent's own command line talks to. Only root can open the socket. */
import type { LastingWait } from '#api/kit/waits.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Event, Pod } from '#api/schema/gen/core-v1.ts';
import { type EventFilter, matchesFilter } from '../events/recorder.ts';
import type { PodEntry } from '../pods/pod-manager.ts';
import type { ApplyResult, DeleteRequest } from '../sources/applied.ts';
import type { ConfigObject, DesiredState } from '../sources/types.ts';
import { type LogQuery, parseLogQuery } from './log-query.ts';
import { podObject, sortPods } from './pod-view.ts';
import type { Route, RouteRequest, RouteResult } from './routes.ts';
import { type StreamRouteDeps, streamRoutes } from './stream-routes.ts';
import { watchEvents, watchPods } from './watch.ts';

export interface LocalApiDeps extends StreamRouteDeps {
  readonly pods: () => readonly PodEntry[];
  readonly findPod: (namespace: string, name: string) => PodEntry | undefined;
  /** What the agent waits on. */
  readonly waits: () => readonly LastingWait[];
  readonly events: (filter: EventFilter) => readonly Event[];
  readonly objects: () => readonly ConfigObject[];
  readonly desired: () => DesiredState;
  readonly apply: (text: string) => Promise<readonly ApplyResult[]>;
  /** The place of a manifest of another source that holds the object. */
  readonly placeOf: (request: DeleteRequest) => string | undefined;
  readonly remove: (request: DeleteRequest, gracePeriodSeconds: number | undefined) => Promise<boolean>;
  /** The bytes of a container's log. @throws StatusError when there is no such log */
  readonly logs: (
    entry: PodEntry,
    query: LogQuery,
    signal: AbortSignal,
  ) => Promise<AsyncIterable<Uint8Array>>;
  /** Adds a container to a running pod, as JSON or YAML. @throws StatusError */
  readonly addEphemeralContainer: (entry: PodEntry, text: string, signal: AbortSignal) => Promise<PodEntry>;
  /** The configuration as `--config` would take it. */
  readonly config: () => unknown;
  /** What the node and its pods use. */
  readonly summary: () => Promise<unknown>;
  /** Conditions of the node that say what it is short of. */
  readonly pressure: () => Iterable<string>;
  /** Every setting with its value and origin as texts. */
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

/** Secrets are listed by name; their content stays in the agent. */
function withoutSecretData(object: ConfigObject): object {
  if (object.kind !== 'Secret') return object;
  return { apiVersion: 'v1', kind: 'Secret', metadata: object.metadata, type: object.type };
}

async function remove(deps: LocalApiDeps, { params, query }: RouteRequest): Promise<RouteResult> {
  const { kind = '', namespace = '', name = '' } = params;
  const grace = query.get('gracePeriodSeconds');
  const seconds = grace === null ? undefined : Number(grace);
  if (seconds !== undefined && !(Number.isInteger(seconds) && seconds >= 0)) {
    throw new StatusError(
      'BadRequest',
      `gracePeriodSeconds: ${JSON.stringify(grace)} is not a whole number of seconds`,
    );
  }
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
