/** API priority and fairness: flow control with the objects of this server, and its paths for debugging. */
import type { FlowSchema } from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { formatTime } from '#api/meta/time.ts';
import type { FlowTarget } from '../flow-control/contract.ts';
import { autoUpdateKey, flowDefaults } from '../flow-control/defaults.ts';
import { dumpLevels, dumpQueues, dumpRequests } from '../flow-control/dump.ts';
import {
  type ConfigurableFlowControl,
  createFlowControl,
  type FlowControl,
} from '../flow-control/flow-control.ts';
import { createFlowFollower, type FlowKind, type FlowWriter } from '../flow-control/follower.ts';
import type { ApiRequest, PathRoute } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import type { Core } from './core.ts';

/** A request may wait for this part of its time. */
const WAIT_SHARE = 1 / 4;
const PRODUCER = 'api-priority-and-fairness-config-producer-v1';
const CONSUMER = 'api-priority-and-fairness-config-consumer-v1';

export interface Flows {
  readonly control: FlowControl;
  readonly routes: readonly PathRoute[];
  /** Maintains the objects until the signal. */
  run(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Returns `undefined` if it is disabled. */
export function createFlows(core: Core, metrics: MetricsRegistry): Flows | undefined {
  const { config, vocabulary, clock, gates } = core;
  if (!config.enablePriorityAndFairness || !gates.has('APIPriorityAndFairness')) return undefined;
  const defaults = flowDefaults(vocabulary);
  const control = createFlowControl(
    { clock, registry: metrics, objectCount: (info) => objectCount(core, info) },
    {
      defaults,
      readOnly: config.maxRequestsInflight,
      mutating: config.maxMutatingRequestsInflight,
      uidHeaders: { schema: vocabulary.flowSchemaHeader, level: vocabulary.priorityLevelHeader },
      maxWaitMs: config.requestTimeout * WAIT_SHARE,
    },
  );
  const follower = createFollower(core, control, defaults);
  return {
    control,
    routes: dumpRoutes(core, control),
    run: (signal) => follower?.run(signal) ?? Promise.resolve(),
    close: () => follower?.close(),
  };
}

function objectCount({ registry, cache }: Core, info: FlowTarget): number | undefined {
  const resource = registry.find(info.group, info.version, info.resource);
  if (resource === undefined) return undefined;
  return cache.resource((resource.stored ?? resource).storage).size;
}

function createFollower(
  core: Core,
  control: ConfigurableFlowControl,
  defaults: ReturnType<typeof flowDefaults>,
): ReturnType<typeof createFlowFollower> | undefined {
  const { vocabulary, registry, cache, clock, log } = core;
  const group = `flowcontrol.apiserver.${vocabulary.apiGroupDomain}`;
  const schemas = registry.find(group, 'v1beta2', 'flowschemas');
  const levels = registry.find(group, 'v1beta2', 'prioritylevelconfigurations');
  // The group may be disabled; the mandatory objects apply then.
  if (schemas === undefined || levels === undefined) return undefined;
  return createFlowFollower({
    clock,
    log,
    control,
    schemas: cache.resource(schemas.storage),
    levels: cache.resource(levels.storage),
    defaults,
    autoUpdateKey: autoUpdateKey(vocabulary),
    writer: createWriter(core, { FlowSchema: schemas, PriorityLevelConfiguration: levels }),
    defer: queueMicrotask,
  });
}

/** Another server may have written or deleted the object meanwhile; the cache will notify of it. */
async function unlessOvertaken(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (thrown) {
    const { reason } = thrown instanceof StatusError ? thrown : { reason: undefined };
    if (reason !== 'AlreadyExists' && reason !== 'NotFound' && reason !== 'Conflict') throw thrown;
  }
}

function createWriter(
  { verbs, clock, vocabulary }: Core,
  resources: Readonly<Record<FlowKind, Resource>>,
): FlowWriter {
  const caller = controllerCaller('flow-control', new AbortController().signal);
  const key = autoUpdateKey(vocabulary);
  return {
    apply(kind, change) {
      const resource = resources[kind];
      const name = change.kind === 'delete' ? change.name : (change.object.metadata?.name ?? '');
      const ref = { resource, namespace: '', name };
      const write = { ref, dryRun: false, fieldManager: PRODUCER, caller };
      switch (change.kind) {
        case 'create':
          return unlessOvertaken(
            verbs.create({ ...write, object: resource.schema.decode(change.object).object }),
          );
        case 'update':
          return unlessOvertaken(
            verbs.update({
              ...write,
              change(live) {
                live.metadata.annotations = { ...live.metadata.annotations, [key]: change.annotation };
                if (change.spec !== undefined) live['spec'] = structuredClone(change.spec);
                return live;
              },
            }),
          );
        case 'delete':
          return unlessOvertaken(verbs.delete({ ...write, preconditions: { uid: change.uid } }));
        default:
          return change satisfies never;
      }
    },
    setCondition(name, condition) {
      const lastTransitionTime = formatTime(clock.now());
      return unlessOvertaken(
        verbs.update({
          ref: { resource: resources.FlowSchema, namespace: '', name },
          dryRun: false,
          fieldManager: CONSUMER,
          caller,
          subresource: 'status',
          change(live) {
            const { conditions = [] } = typed<FlowSchema>(live).status ?? {};
            live['status'] = {
              conditions: [
                ...conditions.filter(({ type }) => type !== condition.type),
                { ...condition, lastTransitionTime },
              ],
            };
            return live;
          },
        }),
      );
    },
  };
}

function dumpRoutes({ clock }: Core, control: ConfigurableFlowControl): readonly PathRoute[] {
  const route = (name: string, dump: (request: ApiRequest) => string): PathRoute => ({
    path: `/debug/api_priority_and_fairness/${name}`,
    methods: ['GET'],
    handler: (request) => ({
      kind: 'bytes',
      status: 200,
      contentType: 'text/plain; charset=utf-8',
      body: Buffer.from(dump(request)),
    }),
  });
  const sinceStart = clock.now() - clock.monotonic();
  return [
    route('dump_priority_levels', () => dumpLevels(control.levels())),
    route('dump_queues', () => dumpQueues(control.levels())),
    route('dump_requests', ({ query }) =>
      dumpRequests(control.levels(), {
        details: (query.get('includeRequestDetails') ?? '') !== '',
        wallTime: (monotonicMs) => sinceStart + monotonicMs,
      }),
    ),
  ];
}
