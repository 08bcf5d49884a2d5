/** RuntimeClasses. Source: node/v1. */

import type { Toleration } from '#api/gen/core-v1.ts';
import type { RuntimeClass } from '#api/gen/node-v1.ts';
import { dns1123LabelErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { validateOverhead } from '#api/schema/validation/resources.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { validateLabelMap } from '../conditions.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';

const sameToleration = (left: Toleration, right: Toleration): boolean =>
  (['key', 'operator', 'value', 'effect', 'tolerationSeconds'] as const).every(
    (member) => left[member] === right[member],
  );

function validateTolerations(errors: FieldErrors, tolerations: readonly Toleration[], path: string): void {
  for (const [index, toleration] of tolerations.entries()) {
    const { key = '', operator = 'Equal', value = '', effect, tolerationSeconds } = toleration;
    const at = `${path}[${index}]`;
    if (key !== '') validateLabelMap(errors, { [key]: operator === 'Equal' ? value : '' }, at);
    else if (operator !== 'Exists') {
      errors.invalid(`${at}.operator`, operator, 'operator must be Exists when `key` is empty');
    }
    if (operator === 'Exists' && value !== '') {
      errors.invalid(`${at}.value`, value, "value must be empty when `operator` is 'Exists'");
    }
    if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
      errors.invalid(
        `${at}.effect`,
        effect ?? '',
        "effect must be 'NoExecute' when `tolerationSeconds` is set",
      );
    }
    if (tolerations.slice(0, index).some((earlier) => sameToleration(earlier, toleration))) {
      errors.duplicate(at, toleration);
    }
  }
}

export const runtimeClass: KindEntry = {
  strategy: kindStrategy<RuntimeClass>({
    unconditionalUpdate: false,
    validate(errors, { handler, overhead, scheduling }) {
      errors.invalidAll('handler', handler, dns1123LabelErrors(handler));
      if (overhead !== undefined) validateOverhead(errors, overhead.podFixed ?? {}, 'overhead.podFixed');
      validateLabelMap(errors, scheduling?.nodeSelector, 'scheduling.nodeSelector');
      validateTolerations(errors, scheduling?.tolerations ?? [], 'scheduling.tolerations');
    },
    validateUpdate: (errors, { handler }, { handler: old }) =>
      validateImmutable(errors, handler, old, 'handler'),
    row: (object, { nowMs }) => [object.metadata?.name ?? '', object.handler, ageOf(object, nowMs)],
  }),
};
