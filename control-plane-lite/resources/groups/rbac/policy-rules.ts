/** Policy rules of roles. Source: rbac.authorization/v1. */

import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import type { Faults } from '#api/schema/validation/faults.ts';

/** Reports every error of a role's rules. Non-resource URLs are valid in cluster roles only. */
export function validateRules(faults: Faults, rules: readonly PolicyRule[], namespaced: boolean): void {
  for (const [index, rule] of rules.entries()) validateRule(faults, rule, namespaced, `rules[${index}]`);
}

function validateRule(faults: Faults, rule: PolicyRule, namespaced: boolean, path: string): void {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  if (verbs.length === 0) faults.required(`${path}.verbs`, 'verbs must contain at least one value');
  if (nonResourceURLs.length > 0) {
    const at = `${path}.nonResourceURLs`;
    if (namespaced) {
      faults.invalid(at, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs');
    }
    if (apiGroups.length > 0 || resources.length > 0 || resourceNames.length > 0) {
      const detail = 'rules cannot apply to both regular resources and non-resource URLs';
      faults.invalid(at, nonResourceURLs, detail);
    }
    return;
  }
  if (apiGroups.length === 0) {
    faults.required(`${path}.apiGroups`, 'resource rules must supply at least one api group');
  }
  if (resources.length === 0) {
    faults.required(`${path}.resources`, 'resource rules must supply at least one resource');
  }
}
