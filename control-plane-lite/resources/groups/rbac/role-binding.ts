/** Role bindings of namespaces and of the cluster. The role of a binding is immutable. Source:
 *  rbac.authorization/v1. */

import type { RoleBinding, RoleRef, Subject } from '#api/gen/rbac-authorization-v1.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Cell, KindEntry, StrategyContext } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy, type RowContext, validateImmutable } from '../kind.ts';
import { pathSegmentErrors } from '../names.ts';

const groupOf = ({ vocabulary }: StrategyContext): string =>
  `rbac.authorization.${vocabulary.apiGroupDomain}`;

function validateRoleRef(errors: FieldErrors, ref: RoleRef, kinds: readonly string[], group: string): void {
  if (ref.apiGroup !== group) errors.unsupported('roleRef.apiGroup', ref.apiGroup, [group]);
  if (!kinds.includes(ref.kind)) errors.unsupported('roleRef.kind', ref.kind, kinds);
  if (ref.name === '') errors.required('roleRef.name');
  else errors.invalidAll('roleRef.name', ref.name, pathSegmentErrors(ref.name));
}

function validateServiceAccount(
  errors: FieldErrors,
  subject: Subject,
  namespaced: boolean,
  path: string,
): void {
  const { name, apiGroup = '', namespace = '' } = subject;
  if (name !== '') errors.invalidAll(`${path}.name`, name, dns1123SubdomainErrors(name));
  if (apiGroup !== '') errors.unsupported(`${path}.apiGroup`, apiGroup, ['']);
  if (namespace !== '') errors.invalidAll(`${path}.namespace`, namespace, dns1123LabelErrors(namespace));
  else if (!namespaced) errors.required(`${path}.namespace`);
}

function validateSubject(
  errors: FieldErrors,
  subject: Subject,
  namespaced: boolean,
  group: string,
  path: string,
): void {
  const { kind, name, apiGroup = '' } = subject;
  if (name === '') errors.required(`${path}.name`);
  if (kind === 'ServiceAccount') validateServiceAccount(errors, subject, namespaced, path);
  else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== group) errors.unsupported(`${path}.apiGroup`, apiGroup, [group]);
  } else errors.unsupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']);
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
      nameErrors: pathSegmentErrors,
      createOnUpdate: true,
      validate(errors, { roleRef, subjects = [] }, context) {
        const group = groupOf(context);
        validateRoleRef(errors, roleRef, roleKinds, group);
        for (const [index, subject] of subjects.entries()) {
          validateSubject(errors, subject, namespaced, group, `subjects[${index}]`);
        }
      },
      validateUpdate: (errors, { roleRef }, { roleRef: old }) =>
        validateImmutable(errors, roleRef, old, 'roleRef', 'cannot change roleRef'),
      row: bindingRow,
    }),
  };
}

export const roleBinding: KindEntry = binding(true, ['Role', 'ClusterRole']);
export const clusterRoleBinding: KindEntry = binding(false, ['ClusterRole']);
