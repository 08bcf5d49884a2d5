/** Cluster role aggregation: writes the rules of the selected roles into cluster roles with an aggregation
 *  rule. Source: rbac.authorization/v1; upstream's cluster role aggregation. */

import { isDeepStrictEqual } from 'node:util';
import type { ClusterRole } from '#api/gen/rbac-authorization-v1.ts';
import { aggregatedRules } from '../authz/aggregated-rules.ts';
import { typed } from '../resources/view.ts';
import { unlessGone } from '../verbs/unless-gone.ts';
import { type Controller, type ControllerContext, defineController } from './skeleton/declaration.ts';

async function reconcile(context: ControllerContext, name: string): Promise<undefined> {
  const { client } = context;
  const roles = context.cacheOf('clusterroles');
  const role = roles.get(name)?.object();
  if (role === undefined) return;
  const { items } = await roles.list({ labels: [], fields: [] });
  const all = items.map((item) => typed<ClusterRole>(item.object()));
  const rules = aggregatedRules(typed<ClusterRole>(role), all);
  if (rules === undefined || isDeepStrictEqual(rules, typed<ClusterRole>(role).rules ?? [])) return;
  await unlessGone(() =>
    client.verbs.update({
      ref: { resource: context.resourceOf('clusterroles'), namespace: '', name },
      change: (live) => {
        const current = aggregatedRules(typed<ClusterRole>(live), all);
        if (current !== undefined) live['rules'] = structuredClone(current);
        return live;
      },
      dryRun: false,
      fieldManager: client.fieldManager,
      caller: client.caller,
    }),
  );
}

export const clusterRoleAggregation: Controller = defineController({
  name: 'clusterrole-aggregation',
  identity: 'clusterrole-aggregation-controller',
  watches: ['clusterroles'],
  writes: { clusterroles: { update: ['rules'] } },
  ownFieldManager: true,
  workers: 1,
  start(context) {
    const { queue, log } = context;
    const aggregating = new Set<string>();
    const following = context.cacheOf('clusterroles').follow(({ type, current }) => {
      const aggregates =
        type !== 'DELETED' && typed<ClusterRole>(current.object()).aggregationRule !== undefined;
      if (aggregates) aggregating.add(current.name);
      else aggregating.delete(current.name);
      for (const name of aggregating) queue.add(name);
    });
    return {
      reconcile: (name) => reconcile(context, name),
      follows: [following],
      onError: (name, err) =>
        log.warn({ err, clusterRole: name }, 'Failed to aggregate cluster role; retrying'),
    };
  },
});
