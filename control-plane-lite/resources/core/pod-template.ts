/** PodTemplates. Source: upstream's pod template strategy, release 1.24. */

import type { PodTemplate } from '#api/gen/core-v1.ts';
import { createBoundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import { validatePodTemplate } from '#api/schema/validation/pod-template.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { sameContent } from '../content-diff.ts';
import type { KindEntry } from '../contract.ts';
import { containerCells, formatLabelCell } from '../rows.ts';
import { typed } from '../view.ts';
import { serverPodOptions } from './pod-options.ts';
import { podTemplateWarnings } from './pod-warnings.ts';

export function podTemplateKind(vocabulary: Vocabulary): KindEntry {
  return {
    strategy: {
      createOnUpdate: true,
      countsGeneration: true,
      generationChanged: (object, old) => !sameContent(object['template'], old['template']),
      validate: (object, { gates }) => {
        const errors = createBoundedFieldErrors();
        const { template } = typed<PodTemplate>(object);
        validatePodTemplate(errors, template ?? {}, 'template', serverPodOptions(vocabulary, gates));
        return errors.all;
      },
      warnings: (object) => podTemplateWarnings(typed<PodTemplate>(object).template, 'template', vocabulary),
      row: (object) => {
        const { template } = typed<PodTemplate>(object);
        const labels = formatLabelCell(template?.metadata?.labels);
        return [object.metadata.name ?? '', ...containerCells(template?.spec), labels];
      },
    },
  };
}
