/** Validation of label selectors inside objects. */

import type { LabelSelector } from '../../gen/meta-v1.ts';
import { labelValueFaults, qualifiedNameFaults } from '../../meta/names.ts';
import type { Faults } from './faults.ts';

const WITH_VALUES = ['In', 'NotIn'];
const WITHOUT_VALUES = ['Exists', 'DoesNotExist'];

/** Returns every validation error of a selector. */
export function validateLabelSelector(faults: Faults, selector: LabelSelector, path: string): void {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    faults.invalidAll(`${path}.matchLabels`, key, qualifiedNameFaults(key));
    faults.invalidAll(`${path}.matchLabels[${key}]`, value, labelValueFaults(value));
  }
  for (const [index, { key, operator, values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    faults.invalidAll(`${at}.key`, key, qualifiedNameFaults(key));
    if (WITH_VALUES.includes(operator)) {
      if (values.length === 0) faults.required(`${at}.values`, `operator ${operator} needs values`);
    } else if (WITHOUT_VALUES.includes(operator)) {
      if (values.length > 0) faults.forbidden(`${at}.values`, `operator ${operator} has no values`);
    } else {
      faults.unsupported(`${at}.operator`, operator, [...WITH_VALUES, ...WITHOUT_VALUES]);
    }
    for (const [valueIndex, value] of values.entries()) {
      faults.invalidAll(`${at}.values[${valueIndex}]`, value, labelValueFaults(value));
    }
  }
}
