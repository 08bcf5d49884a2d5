/** Cluster role aggregation: writes the rules of the selected roles into cluster roles with an aggregation
 *  rule. Source: rbac.authorization/v1; upstream's cluster role aggregation. */
import { isDeepStrictEqual } from 'node:util';
import type { ClusterRole } from '#api/gen/rbac-authorization-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { aggregatedRules } from '../authz/aggregated-rules.ts';
import type { Cache } from '../cache/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import { typed } from '../resources/view.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import { unlessGone } from '../verbs/unless-gone.ts';

export interface RoleAggregationDeps {
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
}

const MANAGER = 'clusterrole-aggregation-controller';

/** Runs until the signal is aborted. */
export async function runRoleAggregation(deps: RoleAggregationDeps, signal: AbortSignal): Promise<void> {
  const group = `rbac.authorization.${deps.vocabulary.apiGroupDomain}`;
  const resource = deps.registry.find(group, 'v1', 'clusterroles');
  if (resource === undefined) return;
  const caller = controllerCaller(MANAGER, signal);
  const roles = deps.cache.resource(resource.storage);
  const aggregating = new Set<string>();

  const work = async (name: string): Promise<undefined> => {
    const role = roles.get(name)?.object();
    if (role === undefined) return;
    const { items } = await roles.list({ labels: [], fields: [] });
    const all = items.map((item) => typed<ClusterRole>(item.object()));
    const rules = aggregatedRules(typed<ClusterRole>(role), all);
    if (rules === undefined || isDeepStrictEqual(rules, typed<ClusterRole>(role).rules ?? [])) return;
    await unlessGone(() =>
      deps.verbs.update({
        ref: { resource, namespace: '', name },
        change: (live) => {
          const current = aggregatedRules(typed<ClusterRole>(live), all);
          if (current !== undefined) live['rules'] = structuredClone(current);
          return live;
        },
        dryRun: false,
        fieldManager: MANAGER,
        caller,
      }),
    );
  };

  const queue = createWorkQueue({
    clock: deps.clock,
    work,
    concurrency: 1,
    onError: (name, err) =>
      deps.log.warn({ err, clusterRole: name }, 'Failed to aggregate cluster role; retrying'),
  });
  const following = roles.follow(({ type, current }) => {
    const aggregates =
      type !== 'DELETED' && typed<ClusterRole>(current.object()).aggregationRule !== undefined;
    if (aggregates) aggregating.add(current.name);
    else aggregating.delete(current.name);
    for (const name of aggregating) queue.add(name);
  });
  await queue.run(signal);
  following.close();
}
