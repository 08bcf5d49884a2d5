/** Validation of node selectors of pod affinity and PersistentVolumes. */

import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from '../../gen/core-v1.ts';
import { qualifiedNameFaults } from '../../meta/names.ts';
import type { Faults } from './faults.ts';

function validateExpression(faults: Faults, requirement: NodeSelectorRequirement, path: string): void {
  const { key, operator, values = [] } = requirement;
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) faults.required(`${path}.values`, `operator ${operator} needs values`);
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) faults.forbidden(`${path}.values`, `operator ${operator} has no values`);
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1)
        faults.required(`${path}.values`, `operator ${operator} needs exactly one value`);
      break;
    default:
      // The decoder has reported the unknown operator.
      operator satisfies never;
  }
  faults.invalidAll(`${path}.key`, key, qualifiedNameFaults(key));
}

/** Fields can be matched by name only, with one value. */
function validateField(faults: Faults, requirement: NodeSelectorRequirement, path: string): void {
  const { key, operator, values = [] } = requirement;
  if (operator !== 'In' && operator !== 'NotIn')
    faults.unsupported(`${path}.operator`, operator, ['In', 'NotIn']);
  else if (values.length !== 1) faults.required(`${path}.values`, 'exactly one value is needed');
  if (key !== 'metadata.name') faults.unsupported(`${path}.key`, key, ['metadata.name']);
}

export function validateNodeSelectorTerm(faults: Faults, term: NodeSelectorTerm, path: string): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries()) {
    validateExpression(faults, requirement, `${path}.matchExpressions[${index}]`);
  }
  for (const [index, requirement] of (term.matchFields ?? []).entries()) {
    validateField(faults, requirement, `${path}.matchFields[${index}]`);
  }
}

/** Returns every validation error of a node selector. */
export function validateNodeSelector(faults: Faults, selector: NodeSelector, path: string): void {
  if (selector.nodeSelectorTerms.length === 0) {
    faults.required(`${path}.nodeSelectorTerms`, 'at least one term is needed');
  }
  for (const [index, term] of selector.nodeSelectorTerms.entries()) {
    validateNodeSelectorTerm(faults, term, `${path}.nodeSelectorTerms[${index}]`);
  }
}
