/** Validation of label selectors inside objects. */

import type { LabelSelector } from '../../gen/meta-v1.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';

const WITH_VALUES = ['In', 'NotIn'];
const WITHOUT_VALUES = ['Exists', 'DoesNotExist'];

/** Returns every validation error of a selector. */
export function validateLabelSelector(errors: FieldErrors, selector: LabelSelector, path: string): void {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    errors.invalidAll(`${path}.matchLabels`, key, qualifiedNameErrors(key));
    errors.invalidAll(`${path}.matchLabels[${key}]`, value, labelValueErrors(value));
  }
  for (const [index, { key, operator, values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    errors.invalidAll(`${at}.key`, key, qualifiedNameErrors(key));
    if (WITH_VALUES.includes(operator)) {
      if (values.length === 0) errors.required(`${at}.values`, `operator ${operator} needs values`);
    } else if (WITHOUT_VALUES.includes(operator)) {
      if (values.length > 0) errors.forbidden(`${at}.values`, `operator ${operator} has no values`);
    } else {
      errors.unsupported(`${at}.operator`, operator, [...WITH_VALUES, ...WITHOUT_VALUES]);
    }
    for (const [valueIndex, value] of values.entries()) {
      errors.invalidAll(`${at}.values[${valueIndex}]`, value, labelValueErrors(value));
    }
  }
}
