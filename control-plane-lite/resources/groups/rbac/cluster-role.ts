/** Cluster roles, plain or aggregated. Source: rbac.authorization/v1. */

import type { ClusterRole } from '#api/gen/rbac-authorization-v1.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';
import type { KindEntry } from '../../contract.ts';
import { kindStrategy } from '../kind.ts';
import { pathSegmentErrors } from '../names.ts';
import { validateRules } from './policy-rules.ts';

export const clusterRole: KindEntry = {
  strategy: kindStrategy<ClusterRole>({
    nameErrors: pathSegmentErrors,
    createOnUpdate: true,
    validate(errors, { rules = [], aggregationRule }) {
      validateRules(errors, rules, false);
      if (aggregationRule === undefined) return;
      const { clusterRoleSelectors = [] } = aggregationRule;
      const path = 'aggregationRule.clusterRoleSelectors';
      if (clusterRoleSelectors.length === 0) {
        errors.required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil');
      }
      for (const [index, selector] of clusterRoleSelectors.entries()) {
        validateLabelSelector(errors, selector, `${path}[${index}]`);
      }
    },
  }),
};
