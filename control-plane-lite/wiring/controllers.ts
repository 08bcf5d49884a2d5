/** Starts the controllers, which use the verbs as clients do. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../cache/contract.ts';
import { runRoleAggregation } from '../controllers/cluster-role-aggregation.ts';
import { runExpiry } from '../controllers/expiry.ts';
import { runGarbageCollector } from '../controllers/garbage-collector/collector.ts';
import type { ControllerName } from '../controllers/names.ts';
import type { OtherContent } from '../controllers/namespaces/conditions.ts';
import { runNamespaceController } from '../controllers/namespaces/controller.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Verbs } from '../verbs/contract.ts';
import type { Core } from './core.ts';
import { runWorkloads } from './workloads.ts';

/** Dependencies of every controller. */
interface Deps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
}

/** Dependencies that only some controllers need. */
interface Extra {
  readonly core: Core;
  /** Resources of aggregated servers in namespaces. */
  readonly others: OtherContent | undefined;
}

type Run = (deps: Deps, signal: AbortSignal, extra: Extra) => Promise<void>;

/** By their names in `--controllers`. Those that need more are wired elsewhere. */
const CONTROLLERS: Partial<Readonly<Record<ControllerName, Run>>> = {
  'clusterrole-aggregation': runRoleAggregation,
  garbagecollector: runGarbageCollector,
  namespace: (deps, signal, { others }) =>
    runNamespaceController(
      {
        ...deps,
        finalizer: deps.vocabulary.namespaceFinalizer,
        ...(others === undefined ? {} : { others }),
      },
      signal,
    ),
};

/** `others`: resources of aggregated servers in namespaces. Runs until the signal fires. */
export async function runControllers(
  core: Core,
  others: OtherContent | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { registry, cache, verbs, clock, vocabulary } = core;
  const depsOf = (controller: string): Deps => ({
    registry,
    cache,
    verbs,
    clock,
    vocabulary,
    log: core.log.child({ controller }),
  });
  await Promise.all([
    ...[...core.controllers].map((name) => CONTROLLERS[name]?.(depsOf(name), signal, { core, others })),
    runWorkloads(core, signal),
    // Expiry of events is a matter of storage, not of a controller.
    runExpiry(depsOf('expiry'), signal),
  ]);
}
