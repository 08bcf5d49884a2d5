/** StatefulSets. Source: apps/v1; migration notes, document 1 §9.5. */
import { isDeepStrictEqual } from 'node:util';
import type { StatefulSet, StatefulSetSpec, StatefulSetStatus } from '#api/gen/apps-v1.ts';
import { validateAnnotations, validateLabels } from '#api/meta/labels.ts';
import { matchesLabels } from '#api/meta/selectors.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, containerCells } from '../../rows.ts';
import {
  amountNumber,
  validateAmount,
  validateAtMost,
  validateAtMostAll,
  validateCounts,
  validateNotDecremented,
} from '../amounts.ts';
import { kindStrategy, statusPart } from '../kind.ts';
import { requirementsOf } from '../selector.ts';
import { validateWorkload } from '../workload.ts';

const RETENTION = ['Retain', 'Delete'];

function validateUpdateStrategy(errors: FieldErrors, { updateStrategy = {} }: StatefulSetSpec): void {
  const { type, rollingUpdate } = updateStrategy;
  const path = 'spec.updateStrategy.rollingUpdate';
  if (type === undefined) return errors.required('spec.updateStrategy.type');
  if (type === 'OnDelete') {
    if (rollingUpdate !== undefined) {
      errors.invalid(path, rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'");
    }
    return undefined;
  }
  errors.nonNegative(`${path}.partition`, rollingUpdate?.partition);
  const { maxUnavailable } = rollingUpdate ?? {};
  if (maxUnavailable === undefined) return undefined;
  validateAmount(errors, maxUnavailable, `${path}.maxUnavailable`);
  if (amountNumber(maxUnavailable) === 0) {
    errors.invalid(`${path}.maxUnavailable`, maxUnavailable, 'cannot be 0');
  }
  validateAtMostAll(errors, maxUnavailable, `${path}.maxUnavailable`);
  return undefined;
}

/** Volumes of the pods come from claims, so the spec as a whole can only be checked pod by pod. */
function validateTemplate(errors: FieldErrors, { template, selector }: StatefulSetSpec): void {
  const { labels = {}, annotations = {} } = template.metadata ?? {};
  const requirements = requirementsOf(selector);
  const path = 'spec.template';
  if (requirements.length > 0 && !matchesLabels(requirements, labels)) {
    errors.invalid(`${path}.metadata.labels`, labels, '`selector` does not match template `labels`');
  }
  for (const error of [
    ...validateLabels(labels, 'labels'),
    ...validateAnnotations(annotations, 'annotations'),
  ]) {
    errors.add(error.kind, `${path}.${error.field}`, error.detail, error.badValue);
  }
  const { restartPolicy = 'Always', activeDeadlineSeconds } = template.spec ?? {};
  if (restartPolicy !== 'Always') {
    errors.unsupported(`${path}.spec.restartPolicy`, restartPolicy, ['Always']);
  }
  if (activeDeadlineSeconds !== undefined) {
    errors.forbidden(
      `${path}.spec.activeDeadlineSeconds`,
      'activeDeadlineSeconds in StatefulSet is not Supported',
    );
  }
}

function validateRetention(errors: FieldErrors, spec: StatefulSetSpec): void {
  const { persistentVolumeClaimRetentionPolicy: policy } = spec;
  if (policy === undefined) return;
  for (const member of ['whenDeleted', 'whenScaled'] as const) {
    const word = policy[member] ?? '';
    if (!RETENTION.includes(word)) {
      errors.unsupported(`spec.persistentVolumeClaimRetentionPolicy.${member}`, word, RETENTION);
    }
  }
}

const CHANGEABLE = new Set<string>([
  'replicas',
  'template',
  'updateStrategy',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]);

const fixedMembers = (spec: StatefulSetSpec | undefined): object =>
  Object.fromEntries(Object.entries(spec ?? {}).filter(([member]) => !CHANGEABLE.has(member)));

function validateStatus(errors: FieldErrors, status: StatefulSetStatus, old?: StatefulSetStatus): void {
  const { replicas, readyReplicas, currentReplicas, updatedReplicas, availableReplicas } = status;
  validateCounts<StatefulSetStatus>(errors, status, [
    'replicas',
    'readyReplicas',
    'currentReplicas',
    'updatedReplicas',
    'availableReplicas',
    'observedGeneration',
    'collisionCount',
  ]);
  validateAtMost(errors, ['readyReplicas', readyReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['currentReplicas', currentReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['updatedReplicas', updatedReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['availableReplicas', availableReplicas], ['replicas', replicas]);
  validateAtMost(errors, ['availableReplicas', availableReplicas], ['readyReplicas', readyReplicas]);
  validateNotDecremented(errors, status.collisionCount, old?.collisionCount, 'status.collisionCount');
}

export const statefulSet: KindEntry = {
  strategy: kindStrategy<StatefulSet>({
    prepareForCreate: (draft) => {
      draft.status = { replicas: 0 };
    },
    validate(errors, { spec }) {
      if (spec === undefined) return errors.required('spec');
      validateWorkload(errors, spec, 'StatefulSet');
      if (spec.podManagementPolicy === undefined) errors.required('spec.podManagementPolicy');
      validateTemplate(errors, spec);
      validateUpdateStrategy(errors, spec);
      validateRetention(errors, spec);
      return undefined;
    },
    validateUpdate(errors, { spec }, { spec: old }) {
      if (isDeepStrictEqual(fixedMembers(spec), fixedMembers(old))) return;
      errors.forbidden(
        'spec',
        "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      );
    },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
      ageOf(object, nowMs),
      ...containerCells(object.spec?.template.spec),
    ],
  }),
  parts: {
    status: statusPart<StatefulSet>({
      validate: (errors, { status }, { status: old }) =>
        status === undefined ? undefined : validateStatus(errors, status, old),
    }),
  },
};
