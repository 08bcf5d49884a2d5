/** Flow control in operation: classifies each request, estimates its work and passes it to its priority level.
 *  Configured with the objects of the API server, at any time. Source: API priority and fairness of upstream's
 *  release 1.24. */
import type { FlowSchema } from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { Admission } from './admission.ts';
import type { FlowRequest, FlowTarget, OnAbort, RequestKind } from './contract.ts';
import type { FlowDefaults } from './defaults.ts';
import { createFlowMetrics } from './flow-metrics.ts';
import { createKindCounts } from './kind-counts.ts';
import { Flow, Level, type LevelContext, type UidHeaders } from './level.ts';
import { type Classifier, createClassifier } from './match.ts';
import { type FlowObjects, nameOf, planFlows } from './plan.ts';
import { createWatchCounts, isOfOneNode, type WatchCounts } from './watch-counts.ts';
import { finalMs, finalSeats, listSeats } from './work-estimate.ts';

export interface FlowControlDeps {
  readonly clock: Clock;
  readonly registry: MetricsRegistry;
  /** Returns the number of stored objects of a resource; `undefined`: unknown. */
  readonly objectCount: (info: FlowTarget) => number | undefined;
}

export interface FlowControlOptions {
  readonly defaults: FlowDefaults;
  /** `--max-requests-inflight` and `--max-mutating-requests-inflight`; their sum is divided among the levels. */
  readonly readOnly: number;
  readonly mutating: number;
  readonly uidHeaders: UidHeaders;
  /** Longest wait in a queue, in ms. */
  readonly maxWaitMs: number;
}

/** What a request needs to pass; the members of an `Admission` that other folders need. */
export type FlowAdmission = Pick<Admission, 'state' | 'kind' | 'release' | 'end'> & {
  readonly flow: Pick<Flow, 'headers'>;
};

export interface FlowControl<Passage = FlowAdmission> {
  /** Starts, queues or rejects a request, as the state of the result says. Its owner calls `end` in any case. */
  arrive(request: FlowRequest): Passage;
  /** Resolves once a waiting request has its seats; immediately if it already has.
   *  @throws StatusError TooManyRequests, or the reason of an abort */
  wait(passage: Passage, onAbort: OnAbort): Promise<void>;
  count(kind: RequestKind): number;
  waiting(kind: RequestKind): number;
}

export interface ConfigurableFlowControl extends FlowControl<Admission> {
  configure(objects: FlowObjects): void;
  /** In the order of the configuration. */
  levels(): readonly Level[];
}

const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
/** Verbs whose events go to watches. */
const WRITING: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

const distinguisherMethod = ({ spec }: FlowSchema): Flow['distinguisher'] => {
  const type = spec?.distinguisherMethod?.type;
  return type === 'ByUser' || type === 'ByNamespace' ? type : undefined;
};

function distinguisherOf({ distinguisher }: Flow, { user, info }: FlowRequest): string {
  if (distinguisher === undefined) return '';
  return distinguisher === 'ByUser' ? user.name : info.namespace;
}

interface Sizes extends Pick<FlowControlDeps, 'objectCount'> {
  readonly watches: WatchCounts;
}

/** Returns the passage of a request with its estimated work. */
function admissionOf({ watches, objectCount }: Sizes, flow: Flow, request: FlowRequest): Admission {
  const { info, user, hasQuery } = request;
  const { verb } = info;
  const kind: RequestKind = READING.has(verb) ? 'readOnly' : 'mutating';
  const isLimited = flow.level.set !== undefined;
  const query = hasQuery ? request.query : undefined;
  const seats = isLimited && verb === 'list' ? listSeats(info, query, objectCount(info)) : 1;
  const distinguisher = isLimited ? distinguisherOf(flow, request) : '';
  const admission = new Admission(flow, kind, { info, userName: user.name, distinguisher }, seats);
  if (verb === 'watch') admission.isWatching = !isOfOneNode(info, query);
  else if (isLimited && WRITING.has(verb)) {
    const affected = watches.count(info);
    admission.finalSeats = finalSeats(affected);
    admission.finalMs = finalMs(affected);
    flow.series.watches.observe(affected);
  }
  return admission;
}

export function createFlowControl(
  deps: FlowControlDeps,
  options: FlowControlOptions,
): ConfigurableFlowControl {
  const { clock, registry } = deps;
  const metrics = createFlowMetrics(registry);
  const watches = createWatchCounts();
  const sizes: Sizes = { watches, objectCount: deps.objectCount };
  const startMs = clock.monotonic();
  const counts = createKindCounts({
    readOnly: metrics.kind('readOnly', options.readOnly, startMs),
    mutating: metrics.kind('mutating', options.mutating, startMs),
  });
  let configured: FlowObjects = { levels: [], schemas: [] };
  let levels = new Map<string, Level>();
  let classify: Classifier<Flow>;
  const context: LevelContext = {
    clock,
    metrics,
    counts,
    watches,
    maxWaitMs: options.maxWaitMs,
    uidHeaders: options.uidHeaders,
    onDrained: () => configure(configured),
  };

  function configure(objects: FlowObjects): void {
    configured = objects;
    const plan = planFlows(objects, {
      defaults: options.defaults,
      seats: options.readOnly + options.mutating,
      busy: [...levels.values()].filter(({ isIdle }) => !isIdle).map(({ object }) => object),
    });
    const planned = new Map<string, Level>();
    for (const each of plan.levels) {
      const name = nameOf(each.object);
      const level = levels.get(name) ?? new Level(each, context);
      planned.set(name, level);
    }
    levels = planned;
    const matched = plan.schemas.flatMap((schema) => {
      const level = planned.get(schema.spec?.priorityLevelConfiguration.name ?? '');
      const { name = '', uid = '' } = schema.metadata ?? {};
      const distinguisher = distinguisherMethod(schema);
      return level === undefined
        ? []
        : [{ schema, target: new Flow({ name, uid, distinguisher }, level, context) }];
    });
    const last = matched.at(-1);
    if (last === undefined) throw new Error('the catch-all FlowSchema is missing');
    classify = createClassifier(matched, last.target);
    // Last, because it starts requests.
    for (const each of plan.levels) planned.get(nameOf(each.object))?.configure(each);
  }

  configure(configured);
  registry.onCollect(() => {
    counts.measure(clock.monotonic());
    for (const level of levels.values()) level.measure();
  });
  return {
    arrive(request) {
      const admission = admissionOf(sizes, classify(request), request);
      admission.level.arrive(admission);
      return admission;
    },
    wait: (admission, onAbort) => admission.level.wait(admission, onAbort),
    count: (kind) => counts.executing(kind),
    waiting: (kind) => counts.waiting(kind),
    configure,
    levels: () => [...levels.values()],
  };
}
