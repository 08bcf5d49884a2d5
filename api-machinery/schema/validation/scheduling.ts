/** Validation of scheduling constraints: node selector, affinity, tolerations, topology spread, readiness
 *  gates. */

import type {
  NodeAffinity,
  PodAffinity,
  PodAffinityTerm,
  PodSpec,
  Toleration,
  TopologySpreadConstraint,
} from '../../gen/core-v1.ts';
import { validateLabels } from '../../meta/labels.ts';
import { dns1123LabelErrors, labelValueErrors, qualifiedNameErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';
import { validateLabelSelector } from './label-selector.ts';
import { validateNodeSelector, validateNodeSelectorTerm } from './node-selector.ts';

function validateWeight(errors: FieldErrors, weight: number, path: string): void {
  if (weight < 1 || weight > 100) errors.invalid(path, weight, 'must be between 1 and 100, inclusive');
}

function validateNodeAffinity(errors: FieldErrors, affinity: NodeAffinity, path: string): void {
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution;
  if (required !== undefined) {
    validateNodeSelector(errors, required, `${path}.requiredDuringSchedulingIgnoredDuringExecution`);
  }
  const preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const [index, term] of preferred.entries()) {
    const at = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(errors, term.weight, `${at}.weight`);
    validateNodeSelectorTerm(errors, term.preference, `${at}.preference`);
  }
}

function validateAffinityTerm(errors: FieldErrors, term: PodAffinityTerm, path: string): void {
  if (term.labelSelector !== undefined)
    validateLabelSelector(errors, term.labelSelector, `${path}.labelSelector`);
  if (term.namespaceSelector !== undefined) {
    validateLabelSelector(errors, term.namespaceSelector, `${path}.namespaceSelector`);
  }
  for (const [index, namespace] of (term.namespaces ?? []).entries()) {
    errors.invalidAll(`${path}.namespaces[${index}]`, namespace, dns1123LabelErrors(namespace));
  }
  validateTopologyKey(errors, term.topologyKey, `${path}.topologyKey`);
}

function validateTopologyKey(errors: FieldErrors, key: string, path: string): void {
  if (key === '') errors.required(path);
  else errors.invalidAll(path, key, qualifiedNameErrors(key));
}

function validatePodAffinity(errors: FieldErrors, affinity: PodAffinity, path: string): void {
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const [index, term] of required.entries()) {
    validateAffinityTerm(errors, term, `${path}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`);
  }
  const preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const [index, term] of preferred.entries()) {
    const at = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(errors, term.weight, `${at}.weight`);
    validateAffinityTerm(errors, term.podAffinityTerm, `${at}.podAffinityTerm`);
  }
}

function validateToleration(errors: FieldErrors, toleration: Toleration, path: string): void {
  const { key = '', operator = 'Equal', value = '', effect, tolerationSeconds } = toleration;
  if (key !== '') errors.invalidAll(`${path}.key`, key, qualifiedNameErrors(key));
  else if (operator !== 'Exists') {
    errors.invalid(
      `${path}.operator`,
      operator,
      'must be Exists where key is empty, which matches every taint',
    );
  }
  if (operator === 'Exists' && value !== '') {
    errors.invalid(`${path}.value`, value, 'must be empty where operator is Exists');
  }
  if (operator === 'Equal') errors.invalidAll(`${path}.value`, value, labelValueErrors(value));
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    errors.invalid(`${path}.effect`, effect ?? '', 'must be NoExecute where tolerationSeconds is set');
  }
}

function validateSpread(
  errors: FieldErrors,
  constraints: readonly TopologySpreadConstraint[],
  path: string,
): void {
  if (constraints.length === 0) return;
  const seen = new Set<string>();
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}[${index}]`;
    const { maxSkew, topologyKey, whenUnsatisfiable, labelSelector, minDomains } = constraint;
    errors.positive(`${at}.maxSkew`, maxSkew);
    validateTopologyKey(errors, topologyKey, `${at}.topologyKey`);
    if (minDomains !== undefined && minDomains <= 0)
      errors.invalid(`${at}.minDomains`, minDomains, 'must be greater than 0');
    if (labelSelector !== undefined) validateLabelSelector(errors, labelSelector, `${at}.labelSelector`);
    const pair = `${topologyKey}, ${whenUnsatisfiable}`;
    if (seen.has(pair)) errors.duplicate(`${at}.topologyKey`, pair);
    seen.add(pair);
  }
}

/** Returns every validation error of a pod's scheduling constraints. */
export function validateScheduling(errors: FieldErrors, spec: PodSpec): void {
  for (const error of validateLabels(spec.nodeSelector ?? {}, 'spec.nodeSelector')) {
    errors.add(error.kind, error.field, error.detail, error.badValue);
  }
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  if (nodeAffinity !== undefined) validateNodeAffinity(errors, nodeAffinity, 'spec.affinity.nodeAffinity');
  if (podAffinity !== undefined) validatePodAffinity(errors, podAffinity, 'spec.affinity.podAffinity');
  if (podAntiAffinity !== undefined)
    validatePodAffinity(errors, podAntiAffinity, 'spec.affinity.podAntiAffinity');
  for (const [index, toleration] of (spec.tolerations ?? []).entries()) {
    validateToleration(errors, toleration, `spec.tolerations[${index}]`);
  }
  validateSpread(errors, spec.topologySpreadConstraints ?? [], 'spec.topologySpreadConstraints');
  for (const [index, gate] of (spec.readinessGates ?? []).entries()) {
    errors.invalidAll(
      `spec.readinessGates[${index}].conditionType`,
      gate.conditionType,
      qualifiedNameErrors(gate.conditionType),
    );
  }
}
