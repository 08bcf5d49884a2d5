/** Runs a declared controller: subscriptions, one work queue with retries and backoff, logs, shutdown. A
 *  controller starts when this server becomes leader and stops when the signal is aborted. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { QueueObserver } from '#api/kit/work-queue.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../../cache/contract.ts';
import type { Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { Verbs } from '../../verbs/contract.ts';
import type { Children } from '../workloads-kit/children.ts';
import { createControllerClient } from '../workloads-kit/controller-base.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import { createKeyQueue } from '../workloads-kit/run-keys.ts';
import type { Controller, ControllerContext, KindWrites, Reconciler } from './declaration.ts';
import { findKind, type KindName } from './kinds.ts';
import {
  type Access,
  scopeCache,
  scopeRegistry,
  scopeVerbs,
  UndeclaredError,
  type UpdateObserver,
} from './scope.ts';
import type { ControllerSettings } from './settings.ts';

/** Dependencies of all controllers, not limited to any kinds. */
export interface ControllerHost {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** Enabled feature gates. */
  readonly gates: ReadonlySet<string>;
  readonly settings: ControllerSettings;
  /** Called for every update of a controller; absent outside of tests. */
  readonly observeUpdate?: UpdateObserver | undefined;
  /** Returns the observer of a controller's queue, for metrics; absent: there are none. */
  readonly observeQueue?: ((name: string) => QueueObserver) | undefined;
  /** The shared index of pods. */
  pods(): Children<PodFacts>;
}

/** Writes of the event recorder: repeated events are counted. */
const EVENT_WRITES: KindWrites = { create: true, update: ['count', 'lastTimestamp'] };

/** Returns the writes of a controller by kind, those of its event recorder included. */
export function writesOf({
  writes,
  recordsEvents,
}: Controller): readonly (readonly [KindName, KindWrites])[] {
  const declared: Partial<Readonly<Record<KindName, KindWrites>>> =
    recordsEvents === true ? { ...writes, events: EVENT_WRITES } : writes;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the record are names of kinds
  return Object.entries(declared) as [KindName, KindWrites][];
}

/** Returns the declared kinds that are served. */
function servedKinds(controller: Controller, host: ControllerHost): ReadonlyMap<KindName, Resource> {
  const kinds = new Map<KindName, Resource>();
  for (const kind of [...controller.watches, ...writesOf(controller).map(([name]) => name)]) {
    const resource = findKind(host.registry, kind, host.vocabulary);
    if (resource !== undefined) kinds.set(kind, resource);
  }
  return kinds;
}

/** Events are optional: without them nothing is recorded. */
function hasRequiredKinds(
  { watches, optional = [], writes }: Controller,
  served: ReadonlyMap<string, Resource>,
): boolean {
  const required = watches.filter((kind) => !optional.includes(kind));
  return [...required, ...Object.keys(writes)].every((kind) => served.has(kind));
}

function accessOf(controller: Controller, served: ReadonlyMap<KindName, Resource>): Access {
  const prefixOf = (kind: KindName): readonly string[] => {
    const resource = served.get(kind);
    return resource === undefined ? [] : [resource.storage.prefix];
  };
  const { everyKind } = controller;
  return {
    controller,
    reads: everyKind === undefined ? new Set(controller.watches.flatMap(prefixOf)) : 'every',
    writes: new Map(
      writesOf(controller).flatMap(([kind, writes]) => prefixOf(kind).map((prefix) => [prefix, writes])),
    ),
    ...(everyKind?.writes === undefined ? {} : { writesEvery: everyKind.writes }),
  };
}

function createContext(
  controller: Controller,
  host: ControllerHost,
  served: ReadonlyMap<KindName, Resource>,
  queue: ControllerContext['queue'],
  signal: AbortSignal,
): ControllerContext {
  const { clock, vocabulary, gates, settings } = host;
  const access = accessOf(controller, served);
  const undeclared = (kinds: string): never => {
    throw new UndeclaredError(`controller ${controller.name} does not declare that it uses ${kinds}`);
  };
  const log = host.log.child({ controller: controller.name });
  const deps = {
    registry: scopeRegistry(host.registry, access),
    cache: scopeCache(host.cache, access),
    verbs: scopeVerbs(host.verbs, access, host.observeUpdate),
    clock,
    log,
    vocabulary,
    gates,
  };
  const resourceOf = (kind: KindName): Resource => served.get(kind) ?? undeclared(kind);
  return {
    ...deps,
    client: createControllerClient(
      deps,
      {
        component: controller.identity,
        recordsEvents: controller.recordsEvents === true,
        ownFieldManager: controller.ownFieldManager === true,
      },
      signal,
    ),
    queue,
    settings,
    signal,
    resourceOf,
    cacheOf: (kind) => deps.cache.resource(resourceOf(kind).storage),
    isServed: (kind) => served.has(kind),
    pods: () => (controller.watches.includes('pods') ? host.pods() : undeclared('pods')),
    allKinds: () => (controller.everyKind === undefined ? undeclared('every kind') : host.registry),
  };
}

/** Runs until the signal is aborted. Returns at once if a required kind is not served. */
export async function runController(
  controller: Controller,
  host: ControllerHost,
  signal: AbortSignal,
): Promise<void> {
  const served = servedKinds(controller, host);
  if (!hasRequiredKinds(controller, served)) return;
  const log = host.log.child({ controller: controller.name });
  const readable = host.cache.readable(accessOf(controller, served).reads, signal);
  if (readable !== undefined) {
    log.warn({}, 'Controller waits: stored objects that it watches cannot be decrypted');
    await readable;
    if (signal.aborted) return;
  }
  const queue = createKeyQueue(
    { cache: host.cache, clock: host.clock, log },
    (key) => reconciler?.reconcile(key) ?? Promise.resolve(undefined),
    {
      observer: host.observeQueue?.(controller.name),
      ...(controller.workers === undefined ? {} : { workers: controller.workers }),
      onError(key, err) {
        if (reconciler?.onError === undefined) log.warn({ err, key }, 'Failed to reconcile object; retrying');
        else reconciler.onError(key, err);
      },
    },
  );
  const reconciler: Reconciler | undefined = controller.start(
    createContext(controller, host, served, queue, signal),
  );
  if (reconciler === undefined) return;
  const { background = [], follows } = reconciler;
  await Promise.all([queue.run(signal), ...background.map((run) => run(signal))]);
  for (const each of follows) each.close();
}
