/** Deployments. Source: apps/v1; migration notes, document 1 §9.5. */
import { isDeepStrictEqual } from 'node:util';
import type { Deployment, DeploymentSpec, DeploymentStatus } from '#api/gen/apps-v1.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
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

function validateStrategy(faults: Faults, { strategy = {} }: DeploymentSpec): void {
  const { type, rollingUpdate } = strategy;
  const path = 'spec.strategy.rollingUpdate';
  if (type === undefined) return faults.required('spec.strategy.type');
  if (type === 'Recreate') {
    if (rollingUpdate !== undefined) {
      faults.forbidden(path, "may not be specified when strategy `type` is 'Recreate'");
    }
    return undefined;
  }
  if (rollingUpdate === undefined) return faults.required(path);
  const { maxUnavailable, maxSurge } = rollingUpdate;
  validateAmount(faults, maxUnavailable, `${path}.maxUnavailable`);
  validateAmount(faults, maxSurge, `${path}.maxSurge`);
  if (amountNumber(maxUnavailable) === 0 && amountNumber(maxSurge) === 0) {
    faults.invalid(`${path}.maxUnavailable`, maxUnavailable ?? null, 'may not be 0 when `maxSurge` is 0');
  }
  validateAtMostAll(faults, maxUnavailable, `${path}.maxUnavailable`);
  return undefined;
}

function validateDeadline(faults: Faults, spec: DeploymentSpec): void {
  const { progressDeadlineSeconds, minReadySeconds = 0 } = spec;
  faults.nonNegative('spec.progressDeadlineSeconds', progressDeadlineSeconds);
  if (progressDeadlineSeconds !== undefined && progressDeadlineSeconds <= minReadySeconds) {
    faults.invalid(
      'spec.progressDeadlineSeconds',
      progressDeadlineSeconds,
      'must be greater than minReadySeconds',
    );
  }
}

function validateStatus(faults: Faults, status: DeploymentStatus = {}, old: DeploymentStatus = {}): void {
  const { replicas, updatedReplicas, readyReplicas, availableReplicas } = status;
  validateCounts<DeploymentStatus>(faults, status, [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
    'collisionCount',
  ]);
  validateAtMost(faults, ['updatedReplicas', updatedReplicas], ['replicas', replicas]);
  validateAtMost(faults, ['readyReplicas', readyReplicas], ['replicas', replicas]);
  validateAtMost(faults, ['availableReplicas', availableReplicas], ['replicas', replicas]);
  validateAtMost(faults, ['availableReplicas', availableReplicas], ['readyReplicas', readyReplicas]);
  validateNotDecremented(faults, status.collisionCount, old.collisionCount, 'status.collisionCount');
}

export const deployment: KindEntry = {
  strategy: kindStrategy<Deployment>({
    validate(faults, { spec }, context) {
      if (spec === undefined) return faults.required('spec');
      validateWorkload(faults, spec, 'Deployment');
      validateWorkloadTemplate(faults, spec, 'Deployment', context);
      validateStrategy(faults, spec);
      validateDeadline(faults, spec);
      return undefined;
    },
    validateUpdate: (faults, { spec }, { spec: old }) =>
      validateImmutable(faults, spec?.selector, old?.selector, 'spec.selector'),
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
      validate: (faults, object, old) => validateStatus(faults, object.status, old.status),
    }),
  },
};
