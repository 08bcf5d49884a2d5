/** Rules of aggregated cluster roles. Pure. Source: rbac.authorization/v1, aggregationRule. */

import type { ClusterRole, PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import { matchesLabels, selectorRequirements } from '#api/meta/selectors.ts';

/** The rules that a role is to have, each once, in the order of its selectors and of the roles' names; `undefined` if
 *  it aggregates nothing. A role never adds to itself. */
export function aggregatedRules(
  role: ClusterRole,
  all: readonly ClusterRole[],
): readonly PolicyRule[] | undefined {
  if (role.aggregationRule === undefined) return undefined;
  const rules = new Map<string, PolicyRule>();
  for (const selector of role.aggregationRule.clusterRoleSelectors ?? []) {
    const requirements = selectorRequirements(selector);
    for (const { metadata, rules: given = [] } of all) {
      if (metadata?.name === role.metadata?.name) continue;
      if (!matchesLabels(requirements, metadata?.labels ?? {})) continue;
      for (const rule of given) rules.set(JSON.stringify(rule), rule);
    }
  }
  return [...rules.values()];
}
