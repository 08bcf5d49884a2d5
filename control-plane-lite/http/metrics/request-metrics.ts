/** Request metrics, under upstream's names. */
import type { CounterSeries, HistogramSeries, MetricsRegistry } from '#api/kit/metrics.ts';
import type { RequestInfo, RequestKind } from '../contract.ts';
import type { InFlight } from '../limits/in-flight.ts';
import type { ServerRequest } from '../request/server-request.ts';

/** Maximum number of cached label combinations. */
const MOST_FOUND = 5000;

interface RequestSeries {
  readonly total: CounterSeries;
  readonly seconds: HistogramSeries | undefined;
}

const SECONDS_BUCKETS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

const VERB_NAMES: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  proxy: 'CONNECT',
  post: 'POST',
  put: 'PUT',
  head: 'GET',
  options: 'OPTIONS',
};
const CONNECT_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'portforward']);

/** `isServed` distinguishes existing resources from names that clients make up, which would create unbounded
 *  label values. */
export interface RequestMetricsDeps {
  readonly registry: MetricsRegistry;
  readonly inFlight: Pick<InFlight, 'count' | 'waiting'>;
  readonly isServed: (info: RequestInfo) => boolean;
  /** Domain of the annotations that mark deprecated APIs. */
  readonly domain: string;
}

export interface RequestMetrics {
  /** `seconds` from the arrival of the request to the end of its response. */
  finished(request: ServerRequest, seconds: number): void;
  /** Counts a request that does not end by itself; returns the function that uncounts it, whose labels may
   *  change. */
  longRunning(request: ServerRequest): () => void;
  /** Requests rejected for lack of a slot. */
  rejected(kind: RequestKind): void;
}

function verbName(request: ServerRequest): string {
  const { info } = request;
  if (CONNECT_SUBRESOURCES.has(info.subresource)) return 'CONNECT';
  if (
    info.verb === 'patch' &&
    request.headers['content-type']?.startsWith('application/apply-patch') === true
  ) {
    return 'APPLY';
  }
  return VERB_NAMES[info.verb] ?? 'OTHER';
}

function scopeOf(info: RequestInfo): string {
  if (!info.isResource) return '';
  if (info.name !== '' || info.verb === 'create') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}

function createFamilies(registry: MetricsRegistry) {
  const where = ['verb', 'dry_run', 'group', 'version', 'resource', 'subresource', 'scope', 'component'];
  const total = registry.counter({
    name: 'apiserver_request_total',
    help: 'Requests by verb, resource and HTTP code.',
    labels: [...where, 'code'],
  });
  const seconds = registry.histogram({
    name: 'apiserver_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response.',
    labels: where,
    buckets: SECONDS_BUCKETS,
    maxSeries: 2000,
  });
  const longRunning = registry.gauge({
    name: 'apiserver_longrunning_requests',
    help: 'Watches and connections passed through, at this moment.',
    labels: ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component'],
  });
  const current = registry.gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Requests being worked on, by kind.',
    labels: ['request_kind'],
  });
  const queued = registry.gauge({
    name: 'apiserver_current_inqueue_requests',
    help: 'Requests waiting for a seat, by kind.',
    labels: ['request_kind'],
  });
  const dropped = registry.counter({
    name: 'apiserver_dropped_requests_total',
    help: 'Requests refused because too many were waiting.',
    labels: ['request_kind'],
  });
  const deprecated = registry.gauge({
    name: 'apiserver_requested_deprecated_apis',
    help: 'Deprecated APIs that were requested.',
    labels: ['group', 'version', 'resource', 'subresource', 'removed_release'],
  });
  return { total, seconds, longRunning, current, queued, dropped, deprecated };
}

export function createRequestMetrics(deps: RequestMetricsDeps): RequestMetrics {
  const { registry, inFlight, domain } = deps;
  const { total, seconds, longRunning, current, queued, dropped, deprecated } = createFamilies(registry);
  registry.onCollect(() => {
    for (const kind of ['readOnly', 'mutating'] as const) {
      current.with(kind).set(inFlight.count(kind));
      queued.with(kind).set(inFlight.waiting(kind));
    }
  });

  function placeOf(request: ServerRequest): readonly string[] {
    const { info } = request;
    const served = info.isResource && deps.isServed(info);
    const names = served ? [info.group, info.version, info.resource, info.subresource] : ['', '', '', ''];
    return [...names, scopeOf(info), 'apiserver'];
  }

  // Finding series by all their labels costs more than routing a small request; one string key finds them
  // all.
  const found = new Map<string, RequestSeries>();

  function seriesOf(request: ServerRequest): RequestSeries {
    const { info } = request;
    const verb = verbName(request);
    const dryRun = request.hasQuery && request.query.getAll('dryRun').includes('All') ? 'All' : '';
    const served = info.isResource && deps.isServed(info);
    const names = served ? `${info.group}/${info.version}/${info.resource}/${info.subresource}` : '';
    const key = `${verb}/${dryRun}/${scopeOf(info)}/${request.status}/${names}`;
    const known = found.get(key);
    if (known !== undefined) return known;
    const labels = [verb, dryRun, ...placeOf(request)];
    const series = {
      total: total.with(...labels, String(request.status)),
      seconds: verb === 'WATCH' || verb === 'CONNECT' ? undefined : seconds.with(...labels),
    };
    if (found.size < MOST_FOUND) found.set(key, series);
    return series;
  }

  return {
    finished(request, duration) {
      const series = seriesOf(request);
      series.total.inc();
      series.seconds?.observe(duration);
      if (request.annotations?.[`${domain}/deprecated`] === 'true') {
        const removed = request.annotations[`${domain}/removed-release`] ?? '';
        const { group, version, resource, subresource } = request.info;
        deprecated.with(group, version, resource, subresource, removed).set(1);
      }
    },
    longRunning(request) {
      const series = longRunning.with(verbName(request), ...placeOf(request));
      series.add(1);
      return () => series.add(-1);
    },
    rejected: (kind) => dropped.with(kind).inc(),
  };
}
