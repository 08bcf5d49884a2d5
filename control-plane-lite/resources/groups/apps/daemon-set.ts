/** DaemonSets. Source: apps/v1. */

import type { DaemonSet, DaemonSetSpec, DaemonSetStatus } from '#api/gen/apps-v1.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, containerCells, formatLabelCell, formatSelectorCell } from '../../rows.ts';
import {
  amountNumber,
  validateAmount,
  validateAtMostAll,
  validateCounts,
  validateNotDecremented,
} from '../amounts.ts';
import { kindStrategy, statusPart, validateImmutable } from '../kind.ts';
import { validateWorkload, validateWorkloadTemplate } from '../workload.ts';

const COUNTS = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
] as const;

function validateUpdateStrategy(errors: FieldErrors, { updateStrategy = {} }: DaemonSetSpec): void {
  const { type, rollingUpdate } = updateStrategy;
  const path = 'spec.updateStrategy.rollingUpdate';
  if (type === undefined) return errors.required('spec.updateStrategy.type');
  if (type === 'OnDelete') return undefined;
  if (rollingUpdate === undefined) return errors.required(path);
  const { maxUnavailable, maxSurge } = rollingUpdate;
  const [unavailable, surge] = [amountNumber(maxUnavailable), amountNumber(maxSurge)];
  validateAmount(errors, maxUnavailable, `${path}.maxUnavailable`);
  validateAmount(errors, maxSurge, `${path}.maxSurge`);
  if (unavailable !== 0 && surge !== 0) {
    errors.invalid(`${path}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero');
  } else if (unavailable === 0 && surge === 0) {
    errors.required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0');
  }
  validateAtMostAll(errors, maxUnavailable, `${path}.maxUnavailable`);
  validateAtMostAll(errors, maxSurge, `${path}.maxSurge`);
  return undefined;
}

export const daemonSet: KindEntry = {
  strategy: kindStrategy<DaemonSet>({
    prepareForCreate: (draft) => {
      draft.status = {
        currentNumberScheduled: 0,
        numberMisscheduled: 0,
        desiredNumberScheduled: 0,
        numberReady: 0,
      };
    },
    validate(errors, { spec }, context) {
      if (spec === undefined) return errors.required('spec');
      validateWorkload(errors, spec, 'DaemonSet');
      validateWorkloadTemplate(errors, spec, 'DaemonSet', context);
      validateUpdateStrategy(errors, spec);
      return undefined;
    },
    validateUpdate: (errors, { spec }, { spec: old }) =>
      validateImmutable(errors, spec?.selector, old?.selector, 'spec.selector'),
    row: (object, { nowMs }) => {
      const { spec, status, metadata } = object;
      return [
        metadata?.name ?? '',
        status?.desiredNumberScheduled ?? 0,
        status?.currentNumberScheduled ?? 0,
        status?.numberReady ?? 0,
        status?.updatedNumberScheduled ?? 0,
        status?.numberAvailable ?? 0,
        formatLabelCell(spec?.template.spec?.nodeSelector),
        ageOf(object, nowMs),
        ...containerCells(spec?.template.spec),
        formatSelectorCell(spec?.selector),
      ];
    },
  }),
  parts: {
    status: statusPart<DaemonSet>({
      validate(errors, { status }, { status: old }) {
        validateCounts<DaemonSetStatus>(errors, status, COUNTS);
        validateNotDecremented(errors, status?.collisionCount, old?.collisionCount, 'status.collisionCount');
      },
    }),
  },
};
