/** ReplicaSets. Source: apps/v1; migration notes, document 1 §9.5. */

import type { ReplicaSet, ReplicaSetStatus } from '#api/gen/apps-v1.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, containerCells, formatSelectorCell } from '../../rows.ts';
import { validateAtMost, validateCounts } from '../amounts.ts';
import { kindStrategy, statusPart, validateImmutable } from '../kind.ts';
import { validateWorkload, validateWorkloadTemplate } from '../workload.ts';

function validateStatus(errors: FieldErrors, status: ReplicaSetStatus = { replicas: 0 }): void {
  const { replicas, fullyLabeledReplicas, readyReplicas, availableReplicas } = status;
  validateCounts<ReplicaSetStatus>(errors, status, [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
  ]);
  validateAtMost(errors, ['fullyLabeledReplicas', fullyLabeledReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['readyReplicas', readyReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['availableReplicas', availableReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['availableReplicas', availableReplicas], ['readyReplicas', readyReplicas]);
}

export const replicaSet: KindEntry = {
  strategy: kindStrategy<ReplicaSet>({
    prepareForCreate: (draft) => {
      draft.status = { replicas: 0 };
    },
    validate(errors, { spec }, context) {
      if (spec === undefined) return errors.required('spec');
      validateWorkload(errors, spec, 'ReplicaSet');
      validateWorkloadTemplate(errors, spec, 'ReplicaSet', context);
      return undefined;
    },
    validateUpdate: (errors, { spec }, { spec: old }) =>
      validateImmutable(errors, spec?.selector, old?.selector, 'spec.selector'),
    selectableFields: { 'status.replicas': ({ status }) => String(status?.replicas ?? 0) },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      object.spec?.replicas ?? 0,
      object.status?.replicas ?? 0,
      object.status?.readyReplicas ?? 0,
      ageOf(object, nowMs),
      ...containerCells(object.spec?.template?.spec),
      formatSelectorCell(object.spec?.selector),
    ],
  }),
  parts: {
    status: statusPart<ReplicaSet>({ validate: (errors, { status }) => validateStatus(errors, status) }),
  },
};
