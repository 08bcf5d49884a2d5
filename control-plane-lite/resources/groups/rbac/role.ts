/** Roles of a namespace. Source: rbac.authorization/v1. */
import type { Role } from '#api/gen/rbac-authorization-v1.ts';
import type { KindEntry } from '../../contract.ts';
import { kindStrategy } from '../kind.ts';
import { pathSegmentFaults } from '../names.ts';
import { validateRules } from './policy-rules.ts';

export const role: KindEntry = {
  strategy: kindStrategy<Role>({
    nameFaults: pathSegmentFaults,
    createOnUpdate: true,
    validate: (faults, { rules = [] }) => validateRules(faults, rules, true),
  }),
};
