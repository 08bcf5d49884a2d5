/** Role bindings of namespaces and of the cluster. The role of a binding is immutable. Source:
 *  rbac.authorization/v1. */

import type { RoleBinding, RoleRef, Subject } from '#api/gen/rbac-authorization-v1.ts';
import { dns1123LabelFaults, dns1123SubdomainFaults } from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import type { Cell, KindEntry, StrategyContext } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy, type RowContext, validateImmutable } from '../kind.ts';
import { pathSegmentFaults } from '../names.ts';

const groupOf = ({ vocabulary }: StrategyContext): string =>
  `rbac.authorization.${vocabulary.apiGroupDomain}`;

function validateRoleRef(faults: Faults, ref: RoleRef, kinds: readonly string[], group: string): void {
  if (ref.apiGroup !== group) faults.unsupported('roleRef.apiGroup', ref.apiGroup, [group]);
  if (!kinds.includes(ref.kind)) faults.unsupported('roleRef.kind', ref.kind, kinds);
  if (ref.name === '') faults.required('roleRef.name');
  else faults.invalidAll('roleRef.name', ref.name, pathSegmentFaults(ref.name));
}

function validateServiceAccount(faults: Faults, subject: Subject, namespaced: boolean, path: string): void {
  const { name, apiGroup = '', namespace = '' } = subject;
  if (name !== '') faults.invalidAll(`${path}.name`, name, dns1123SubdomainFaults(name));
  if (apiGroup !== '') faults.unsupported(`${path}.apiGroup`, apiGroup, ['']);
  if (namespace !== '') faults.invalidAll(`${path}.namespace`, namespace, dns1123LabelFaults(namespace));
  else if (!namespaced) faults.required(`${path}.namespace`);
}

function validateSubject(
  faults: Faults,
  subject: Subject,
  namespaced: boolean,
  group: string,
  path: string,
): void {
  const { kind, name, apiGroup = '' } = subject;
  if (name === '') faults.required(`${path}.name`);
  if (kind === 'ServiceAccount') validateServiceAccount(faults, subject, namespaced, path);
  else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== group) faults.unsupported(`${path}.apiGroup`, apiGroup, [group]);
  } else faults.unsupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']);
}

function bindingRow(object: RoleBinding, { nowMs }: RowContext): readonly Cell[] {
  const { metadata, roleRef, subjects = [] } = object;
  const named = (kind: string): string =>
    subjects
      .filter((subject) => subject.kind === kind)
      .map(({ name, namespace }) => (kind === 'ServiceAccount' ? `${namespace ?? ''}/${name}` : name))
      .join(', ');
  return [
    metadata?.name ?? '',
    `${roleRef.kind}/${roleRef.name}`,
    ageOf(object, nowMs),
    named('User'),
    named('Group'),
    named('ServiceAccount'),
  ];
}

function binding(namespaced: boolean, roleKinds: readonly string[]): KindEntry {
  return {
    strategy: kindStrategy<RoleBinding>({
      nameFaults: pathSegmentFaults,
      createOnUpdate: true,
      validate(faults, { roleRef, subjects = [] }, context) {
        const group = groupOf(context);
        validateRoleRef(faults, roleRef, roleKinds, group);
        for (const [index, subject] of subjects.entries()) {
          validateSubject(faults, subject, namespaced, group, `subjects[${index}]`);
        }
      },
      validateUpdate: (faults, { roleRef }, { roleRef: old }) =>
        validateImmutable(faults, roleRef, old, 'roleRef', 'cannot change roleRef'),
      row: bindingRow,
    }),
  };
}

export const roleBinding: KindEntry = binding(true, ['Role', 'ClusterRole']);
export const clusterRoleBinding: KindEntry = binding(false, ['ClusterRole']);
