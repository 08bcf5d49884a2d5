/** Pods: defaults on creation, permitted updates, grace period of deletion, and Table rows. Source:
 *  upstream's pod registry, release 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import { createBoundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import { validatePodContent } from '#api/schema/validation/pod.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { sameContent } from '../content-diff.ts';
import type { ApiObject, DeletionPlan, KindEntry, StrategyContext } from '../contract.ts';
import { membersOf, typed } from '../view.ts';
import { validateSinglePodMode } from './access-modes.ts';
import { validateDeletionCost } from './pod-deletion-cost.ts';
import { ephemeralContainersPart } from './pod-ephemeral.ts';
import { serverPodOptions } from './pod-options.ts';
import { podRow } from './pod-row.ts';
import { annotateSeccomp, seccompConflicts, syncSeccomp } from './pod-seccomp.ts';
import { podStatusPart } from './pod-status.ts';
import { validatePodUpdate } from './pod-update.ts';
import { podWarnings } from './pod-warnings.ts';

/** Both spellings of the service account's name are shown; the newer one counts. */
function normalizePod(draft: ApiObject): void {
  const { serviceAccountName = '', serviceAccount = '' } = typed<Pod>(draft).spec ?? {};
  const name = serviceAccountName === '' ? serviceAccount : serviceAccountName;
  if (name === '' || (name === serviceAccountName && name === serviceAccount)) return;
  draft['spec'] = { ...membersOf(draft, 'spec'), serviceAccountName: name, serviceAccount: name };
}

function prepareForCreate(draft: ApiObject, { vocabulary }: StrategyContext): void {
  normalizePod(draft);
  syncSeccomp(draft, vocabulary);
  draft['status'] = { phase: 'Pending', qosClass: qosClass(typed<Pod>(draft)) };
}

/** Reports whether the spec and its annotations are unchanged, as in most updates. */
const saysTheSame = (object: ApiObject, old: ApiObject): boolean =>
  sameContent(object['spec'], old['spec']) &&
  sameContent(object.metadata.annotations, old.metadata.annotations);

function validate(
  object: ApiObject,
  { vocabulary, gates }: StrategyContext,
  old?: ApiObject,
): readonly FieldError[] {
  if (old !== undefined && saysTheSame(object, old)) return [];
  const pod = typed<Pod>(object);
  const errors = createBoundedFieldErrors();
  if (gates.has('PodDeletionCost')) validateDeletionCost(errors, [object, old], vocabulary);
  for (const [index, { ephemeral }] of (pod.spec?.volumes ?? []).entries()) {
    const modes = ephemeral?.volumeClaimTemplate?.spec?.accessModes;
    const path = `spec.volumes[${index}].ephemeral.volumeClaimTemplate.spec.accessModes`;
    // The volumes of a pod never change.
    if (modes !== undefined && old === undefined)
      validateSinglePodMode(errors, [modes, undefined], path, gates);
  }
  const content = [...validatePodContent(pod, serverPodOptions(vocabulary, gates)), ...errors.all];
  const mirror = pod.metadata?.annotations?.[vocabulary.configMirror];
  if (mirror === undefined || (pod.spec?.nodeName ?? '') !== '') return content;
  const late = createBoundedFieldErrors();
  late.invalid(
    `metadata.annotations[${vocabulary.configMirror}]`,
    mirror,
    'must set spec.nodeName if mirror pod annotation is set',
  );
  return [...content, ...late.all];
}

function validateCreate(object: ApiObject, { vocabulary }: StrategyContext): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  if ((typed<Pod>(object).spec?.ephemeralContainers ?? []).length > 0) {
    errors.forbidden('spec.ephemeralContainers', 'cannot be set on create');
  }
  return [...errors.all, ...seccompConflicts(typed<Pod>(object), vocabulary)];
}

/** Grace period of the request, else of the pod; 0 for a pod that is not running. */
export function planPodDeletion(object: ApiObject, requested: Int64 | undefined): DeletionPlan {
  const { spec, status } = typed<Pod>(object);
  const unscheduled = (spec?.nodeName ?? '') === '';
  const terminated = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (unscheduled || terminated) return { graceSeconds: 0 };
  const graceSeconds = requested ?? spec?.terminationGracePeriodSeconds ?? 0;
  return { graceSeconds: graceSeconds < 0 ? 1 : graceSeconds };
}

const SELECTABLE: Readonly<Record<string, (object: ApiObject) => string>> = {
  'spec.nodeName': (object) => typed<Pod>(object).spec?.nodeName ?? '',
  'spec.restartPolicy': (object) => typed<Pod>(object).spec?.restartPolicy ?? '',
  'spec.schedulerName': (object) => typed<Pod>(object).spec?.schedulerName ?? '',
  'spec.serviceAccountName': (object) => typed<Pod>(object).spec?.serviceAccountName ?? '',
  'status.phase': (object) => typed<Pod>(object).status?.phase ?? '',
  'status.podIP': (object) => typed<Pod>(object).status?.podIP ?? '',
  'status.nominatedNodeName': (object) => typed<Pod>(object).status?.nominatedNodeName ?? '',
};

export function podKind(vocabulary: Vocabulary): KindEntry {
  return {
    strategy: {
      countsGeneration: false,
      sharesUntouched: true,
      normalize: normalizePod,
      prepareForCreate,
      prepareForUpdate: (draft) => annotateSeccomp(draft, vocabulary),
      validate,
      validateCreate,
      validateUpdate: validatePodUpdate,
      planDeletion: planPodDeletion,
      selectableFields: SELECTABLE,
      // Warnings are for creations: updates are frequent and mostly come from controllers.
      warnings: (object, old) => (old === undefined ? podWarnings(typed<Pod>(object), vocabulary) : []),
      row: (object, { nowMs }) => podRow(typed<Pod>(object), nowMs),
    },
    parts: { status: podStatusPart, ephemeralcontainers: ephemeralContainersPart },
  };
}
