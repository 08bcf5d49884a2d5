/** Everything that works beside the requests: it uses the verbs as clients do. */
import { runRoleAggregation } from '../controllers/cluster-role-aggregation.ts';
import { runExpiry } from '../controllers/expiry.ts';
import { runGarbageCollector } from '../controllers/garbage-collector/collector.ts';
import type { OtherContent } from '../controllers/namespaces/conditions.ts';
import { runNamespaceController } from '../controllers/namespaces/controller.ts';
import type { Core } from './core.ts';

/** `others`: what other servers have in namespaces. Works until the signal fires. */
export async function runControllers(
  core: Core,
  others: OtherContent | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { registry, cache, verbs, clock, log, vocabulary } = core;
  const deps = { registry, cache, verbs, clock, log };
  await Promise.all([
    runGarbageCollector({ ...deps, log: log.child({ controller: 'garbage-collector' }) }, signal),
    runNamespaceController(
      {
        ...deps,
        log: log.child({ controller: 'namespace' }),
        finalizer: vocabulary.namespaceFinalizer,
        ...(others === undefined ? {} : { others }),
      },
      signal,
    ),
    runRoleAggregation(
      { ...deps, vocabulary, log: log.child({ controller: 'cluster-role-aggregation' }) },
      signal,
    ),
    runExpiry({ ...deps, log: log.child({ controller: 'expiry' }) }, signal),
  ]);
}
