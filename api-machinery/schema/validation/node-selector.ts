/** Validation of node selectors of pod affinity and PersistentVolumes. */

import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from '../../gen/core-v1.ts';
import { qualifiedNameErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';

function validateExpression(errors: FieldErrors, requirement: NodeSelectorRequirement, path: string): void {
  const { key, operator, values = [] } = requirement;
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) errors.required(`${path}.values`, `operator ${operator} needs values`);
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) errors.forbidden(`${path}.values`, `operator ${operator} has no values`);
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1)
        errors.required(`${path}.values`, `operator ${operator} needs exactly one value`);
      break;
    default:
      // The decoder has reported the unknown operator.
      operator satisfies never;
  }
  errors.invalidAll(`${path}.key`, key, qualifiedNameErrors(key));
}

/** Fields can be matched by name only, with one value. */
function validateField(errors: FieldErrors, requirement: NodeSelectorRequirement, path: string): void {
  const { key, operator, values = [] } = requirement;
  if (operator !== 'In' && operator !== 'NotIn')
    errors.unsupported(`${path}.operator`, operator, ['In', 'NotIn']);
  else if (values.length !== 1) errors.required(`${path}.values`, 'exactly one value is needed');
  if (key !== 'metadata.name') errors.unsupported(`${path}.key`, key, ['metadata.name']);
}

export function validateNodeSelectorTerm(errors: FieldErrors, term: NodeSelectorTerm, path: string): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries()) {
    validateExpression(errors, requirement, `${path}.matchExpressions[${index}]`);
  }
  for (const [index, requirement] of (term.matchFields ?? []).entries()) {
    validateField(errors, requirement, `${path}.matchFields[${index}]`);
  }
}

/** Hundreds of thousands fit into an object. */
const isBlank = ({ matchExpressions, matchFields }: NodeSelectorTerm): boolean =>
  matchExpressions === undefined && matchFields === undefined;

/** Returns every validation error of a node selector. */
export function validateNodeSelector(errors: FieldErrors, selector: NodeSelector, path: string): void {
  if (selector.nodeSelectorTerms.length === 0) {
    errors.required(`${path}.nodeSelectorTerms`, 'at least one term is needed');
  }
  for (const [index, term] of selector.nodeSelectorTerms.entries()) {
    if (!isBlank(term)) validateNodeSelectorTerm(errors, term, `${path}.nodeSelectorTerms[${index}]`);
  }
}
