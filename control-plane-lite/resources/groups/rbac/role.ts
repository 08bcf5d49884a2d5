/** Roles of a namespace. Source: rbac.authorization/v1. */
import type { Role } from '#api/gen/rbac-authorization-v1.ts';
import type { KindEntry } from '../../contract.ts';
import { kindStrategy } from '../kind.ts';
import { pathSegmentErrors } from '../names.ts';
import { validateRules } from './policy-rules.ts';

export const role: KindEntry = {
  strategy: kindStrategy<Role>({
    nameErrors: pathSegmentErrors,
    createOnUpdate: true,
    validate: (errors, { rules = [] }) => validateRules(errors, rules, true),
  }),
};
