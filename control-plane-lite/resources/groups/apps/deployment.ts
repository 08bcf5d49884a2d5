/** Deployments. Source: apps/v1; migration notes, document 1 §9.5. */
import { isDeepStrictEqual } from 'node:util';
import type { Deployment, DeploymentSpec, DeploymentStatus } from '#api/gen/apps-v1.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, containerCells, formatSelectorCell } from '../../rows.ts';
import {
  amountNumber,
  validateAmount,
  validateAtMost,
  validateAtMostAll,
  validateCounts,
  validateNotDecremented,
} from '../amounts.ts';
import { kindStrategy, statusPart, validateImmutable } from '../kind.ts';
import { validateWorkload, validateWorkloadTemplate } from '../workload.ts';

function validateStrategy(errors: FieldErrors, { strategy = {} }: DeploymentSpec): void {
  const { type, rollingUpdate } = strategy;
  const path = 'spec.strategy.rollingUpdate';
  if (type === undefined) return errors.required('spec.strategy.type');
  if (type === 'Recreate') {
    if (rollingUpdate !== undefined) {
      errors.forbidden(path, "may not be specified when strategy `type` is 'Recreate'");
    }
    return undefined;
  }
  if (rollingUpdate === undefined) return errors.required(path);
  const { maxUnavailable, maxSurge } = rollingUpdate;
  validateAmount(errors, maxUnavailable, `${path}.maxUnavailable`);
  validateAmount(errors, maxSurge, `${path}.maxSurge`);
  if (amountNumber(maxUnavailable) === 0 && amountNumber(maxSurge) === 0) {
    errors.invalid(`${path}.maxUnavailable`, maxUnavailable ?? null, 'may not be 0 when `maxSurge` is 0');
  }
  validateAtMostAll(errors, maxUnavailable, `${path}.maxUnavailable`);
  return undefined;
}

function validateDeadline(errors: FieldErrors, spec: DeploymentSpec): void {
  const { progressDeadlineSeconds, minReadySeconds = 0 } = spec;
  errors.nonNegative('spec.progressDeadlineSeconds', progressDeadlineSeconds);
  if (progressDeadlineSeconds !== undefined && progressDeadlineSeconds <= minReadySeconds) {
    errors.invalid(
      'spec.progressDeadlineSeconds',
      progressDeadlineSeconds,
      'must be greater than minReadySeconds',
    );
  }
}

function validateStatus(
  errors: FieldErrors,
  status: DeploymentStatus = {},
  old: DeploymentStatus = {},
): void {
  const { replicas, updatedReplicas, readyReplicas, availableReplicas } = status;
  validateCounts<DeploymentStatus>(errors, status, [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
    'collisionCount',
  ]);
  validateAtMost(errors, ['updatedReplicas', updatedReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['readyReplicas', readyReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['availableReplicas', availableReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['availableReplicas', availableReplicas], ['readyReplicas', readyReplicas]);
  validateNotDecremented(errors, status.collisionCount, old.collisionCount, 'status.collisionCount');
}

export const deployment: KindEntry = {
  strategy: kindStrategy<Deployment>({
    validate(errors, { spec }, context) {
      if (spec === undefined) return errors.required('spec');
      validateWorkload(errors, spec, 'Deployment');
      validateWorkloadTemplate(errors, spec, 'Deployment', context);
      validateStrategy(errors, spec);
      validateDeadline(errors, spec);
      return undefined;
    },
    validateUpdate: (errors, { spec }, { spec: old }) =>
      validateImmutable(errors, spec?.selector, old?.selector, 'spec.selector'),
    // Controllers record instructions for the pods in annotations.
    generationChanged: (object, old) =>
      !isDeepStrictEqual(object.spec, old.spec) ||
      !isDeepStrictEqual(object.metadata?.annotations, old.metadata?.annotations),
    row: (object, { nowMs }) => {
      const { spec, status = {}, metadata } = object;
      return [
        metadata?.name ?? '',
        `${status.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
        status.updatedReplicas ?? 0,
        status.availableReplicas ?? 0,
        ageOf(object, nowMs),
        ...containerCells(spec?.template.spec),
        formatSelectorCell(spec?.selector),
      ];
    },
  }),
  parts: {
    status: statusPart<Deployment>({
      keepLabels: true,
      validate: (errors, object, old) => validateStatus(errors, object.status, old.status),
    }),
  },
};
