/** Policy rules of roles. Source: rbac.authorization/v1. */

import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

/** Reports every error of a role's rules. Non-resource URLs are valid in cluster roles only. */
export function validateRules(errors: FieldErrors, rules: readonly PolicyRule[], namespaced: boolean): void {
  for (const [index, rule] of rules.entries()) validateRule(errors, rule, namespaced, `rules[${index}]`);
}

function validateRule(errors: FieldErrors, rule: PolicyRule, namespaced: boolean, path: string): void {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  if (verbs.length === 0) errors.required(`${path}.verbs`, 'verbs must contain at least one value');
  if (nonResourceURLs.length > 0) {
    const at = `${path}.nonResourceURLs`;
    if (namespaced) {
      errors.invalid(at, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs');
    }
    if (apiGroups.length > 0 || resources.length > 0 || resourceNames.length > 0) {
      const detail = 'rules cannot apply to both regular resources and non-resource URLs';
      errors.invalid(at, nonResourceURLs, detail);
    }
    return;
  }
  if (apiGroups.length === 0) {
    errors.required(`${path}.apiGroups`, 'resource rules must supply at least one api group');
  }
  if (resources.length === 0) {
    errors.required(`${path}.resources`, 'resource rules must supply at least one resource');
  }
}
