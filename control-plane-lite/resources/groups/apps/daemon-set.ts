/** DaemonSets. Source: apps/v1. */

import type { DaemonSet, DaemonSetSpec, DaemonSetStatus } from '#api/gen/apps-v1.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
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

function validateUpdateStrategy(faults: Faults, { updateStrategy = {} }: DaemonSetSpec): void {
  const { type, rollingUpdate } = updateStrategy;
  const path = 'spec.updateStrategy.rollingUpdate';
  if (type === undefined) return faults.required('spec.updateStrategy.type');
  if (type === 'OnDelete') return undefined;
  if (rollingUpdate === undefined) return faults.required(path);
  const { maxUnavailable, maxSurge } = rollingUpdate;
  const [unavailable, surge] = [amountNumber(maxUnavailable), amountNumber(maxSurge)];
  validateAmount(faults, maxUnavailable, `${path}.maxUnavailable`);
  validateAmount(faults, maxSurge, `${path}.maxSurge`);
  if (unavailable !== 0 && surge !== 0) {
    faults.invalid(`${path}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero');
  } else if (unavailable === 0 && surge === 0) {
    faults.required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0');
  }
  validateAtMostAll(faults, maxUnavailable, `${path}.maxUnavailable`);
  validateAtMostAll(faults, maxSurge, `${path}.maxSurge`);
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
    validate(faults, { spec }, context) {
      if (spec === undefined) return faults.required('spec');
      validateWorkload(faults, spec, 'DaemonSet');
      validateWorkloadTemplate(faults, spec, 'DaemonSet', context);
      validateUpdateStrategy(faults, spec);
      return undefined;
    },
    validateUpdate: (faults, { spec }, { spec: old }) =>
      validateImmutable(faults, spec?.selector, old?.selector, 'spec.selector'),
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
      validate(faults, { status }, { status: old }) {
        validateCounts<DaemonSetStatus>(faults, status, COUNTS);
        validateNotDecremented(faults, status?.collisionCount, old?.collisionCount, 'status.collisionCount');
      },
    }),
  },
};
