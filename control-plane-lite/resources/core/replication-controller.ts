/** ReplicationControllers. `../scale.ts` builds their scale. Source: upstream's replication controller
 *  strategy and printer, release 1.24. */

import type { ReplicationController } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { selectorRequirements } from '#api/meta/selectors.ts';
import { createBoundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import { validateServiceTemplate } from '#api/schema/validation/pod-template.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, Cell, KindEntry, PartStrategy, StrategyContext } from '../contract.ts';
import { keepAllBut } from '../generic.ts';
import { ageOf, containerCells, formatLabelCell } from '../rows.ts';
import { typed } from '../view.ts';
import { serverPodOptions } from './pod-options.ts';
import { podTemplateWarnings } from './pod-warnings.ts';

const COUNTS = ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'] as const;

function validate(object: ApiObject, { vocabulary, gates }: StrategyContext): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const {
    selector = {},
    template,
    replicas,
    minReadySeconds,
  } = typed<ReplicationController>(object).spec ?? {};
  errors.nonNegative('spec.minReadySeconds', minReadySeconds);
  if (Object.keys(selector).length === 0) errors.required('spec.selector');
  errors.nonNegative('spec.replicas', replicas);
  validateServiceTemplate(errors, template, 'spec.template', {
    ...serverPodOptions(vocabulary, gates),
    kind: 'ReplicationController',
    selector: selectorRequirements({ matchLabels: selector }),
  });
  return errors.all;
}

const statusPart: PartStrategy = {
  prepareForUpdate: (draft, old) => keepAllBut(draft, old, 'status'),
  validateUpdate(object): readonly FieldError[] {
    const errors = createBoundedFieldErrors();
    const { status } = typed<ReplicationController>(object);
    const total = status?.replicas ?? 0;
    for (const member of COUNTS) {
      const count = status?.[member] ?? 0;
      errors.nonNegative(`status.${member}`, count);
      if (count > total) {
        errors.invalid(`status.${member}`, count, 'cannot be greater than status.replicas');
      }
    }
    errors.nonNegative('status.observedGeneration', status?.observedGeneration);
    if ((status?.availableReplicas ?? 0) > (status?.readyReplicas ?? 0)) {
      errors.invalid(
        'status.availableReplicas',
        status?.availableReplicas,
        'cannot be greater than readyReplicas',
      );
    }
    return errors.all;
  },
};

function row(object: ApiObject, nowMs: number): readonly Cell[] {
  const { spec, status } = typed<ReplicationController>(object);
  return [
    object.metadata.name ?? '',
    spec?.replicas ?? 0,
    status?.replicas ?? 0,
    status?.readyReplicas ?? 0,
    ageOf(object, nowMs),
    ...containerCells(spec?.template?.spec),
    formatLabelCell(spec?.selector),
  ];
}

export function replicationControllerKind(vocabulary: Vocabulary): KindEntry {
  return {
    strategy: {
      defaultPropagation: 'orphan',
      prepareForCreate: (draft) => {
        draft['status'] = { replicas: 0 };
      },
      validate,
      warnings: (object) => {
        const { spec } = typed<ReplicationController>(object);
        return podTemplateWarnings(spec?.template, 'spec.template', vocabulary);
      },
      selectableFields: {
        'status.replicas': (object) => String(typed<ReplicationController>(object).status?.replicas ?? 0),
      },
      row: (object, { nowMs }) => row(object, nowMs),
    },
    parts: { status: statusPart },
  };
}
