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
import { dns1123LabelFaults, labelValueFaults, qualifiedNameFaults } from '../../meta/names.ts';
import type { Faults } from './faults.ts';
import { validateLabelSelector } from './label-selector.ts';
import { validateNodeSelector, validateNodeSelectorTerm } from './node-selector.ts';

function validateWeight(faults: Faults, weight: number, path: string): void {
  if (weight < 1 || weight > 100) faults.invalid(path, weight, 'must be between 1 and 100, inclusive');
}

function validateNodeAffinity(faults: Faults, affinity: NodeAffinity, path: string): void {
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution;
  if (required !== undefined) {
    validateNodeSelector(faults, required, `${path}.requiredDuringSchedulingIgnoredDuringExecution`);
  }
  const preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const [index, term] of preferred.entries()) {
    const at = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(faults, term.weight, `${at}.weight`);
    validateNodeSelectorTerm(faults, term.preference, `${at}.preference`);
  }
}

function validateAffinityTerm(faults: Faults, term: PodAffinityTerm, path: string): void {
  if (term.labelSelector !== undefined)
    validateLabelSelector(faults, term.labelSelector, `${path}.labelSelector`);
  if (term.namespaceSelector !== undefined) {
    validateLabelSelector(faults, term.namespaceSelector, `${path}.namespaceSelector`);
  }
  for (const [index, namespace] of (term.namespaces ?? []).entries()) {
    faults.invalidAll(`${path}.namespaces[${index}]`, namespace, dns1123LabelFaults(namespace));
  }
  validateTopologyKey(faults, term.topologyKey, `${path}.topologyKey`);
}

function validateTopologyKey(faults: Faults, key: string, path: string): void {
  if (key === '') faults.required(path);
  else faults.invalidAll(path, key, qualifiedNameFaults(key));
}

function validatePodAffinity(faults: Faults, affinity: PodAffinity, path: string): void {
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const [index, term] of required.entries()) {
    validateAffinityTerm(faults, term, `${path}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`);
  }
  const preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const [index, term] of preferred.entries()) {
    const at = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(faults, term.weight, `${at}.weight`);
    validateAffinityTerm(faults, term.podAffinityTerm, `${at}.podAffinityTerm`);
  }
}

function validateToleration(faults: Faults, toleration: Toleration, path: string): void {
  const { key = '', operator = 'Equal', value = '', effect, tolerationSeconds } = toleration;
  if (key !== '') faults.invalidAll(`${path}.key`, key, qualifiedNameFaults(key));
  else if (operator !== 'Exists') {
    faults.invalid(
      `${path}.operator`,
      operator,
      'must be Exists where key is empty, which matches every taint',
    );
  }
  if (operator === 'Exists' && value !== '') {
    faults.invalid(`${path}.value`, value, 'must be empty where operator is Exists');
  }
  if (operator === 'Equal') faults.invalidAll(`${path}.value`, value, labelValueFaults(value));
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    faults.invalid(`${path}.effect`, effect ?? '', 'must be NoExecute where tolerationSeconds is set');
  }
}

function validateSpread(
  faults: Faults,
  constraints: readonly TopologySpreadConstraint[],
  path: string,
): void {
  if (constraints.length === 0) return;
  const seen = new Set<string>();
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}[${index}]`;
    const { maxSkew, topologyKey, whenUnsatisfiable, labelSelector, minDomains } = constraint;
    faults.positive(`${at}.maxSkew`, maxSkew);
    validateTopologyKey(faults, topologyKey, `${at}.topologyKey`);
    if (minDomains !== undefined && minDomains <= 0)
      faults.invalid(`${at}.minDomains`, minDomains, 'must be greater than 0');
    if (labelSelector !== undefined) validateLabelSelector(faults, labelSelector, `${at}.labelSelector`);
    const pair = `${topologyKey}, ${whenUnsatisfiable}`;
    if (seen.has(pair)) faults.duplicate(`${at}.topologyKey`, pair);
    seen.add(pair);
  }
}

/** Returns every validation error of a pod's scheduling constraints. */
export function validateScheduling(faults: Faults, spec: PodSpec): void {
  for (const error of validateLabels(spec.nodeSelector ?? {}, 'spec.nodeSelector')) {
    faults.add(error.kind, error.field, error.detail, error.badValue);
  }
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  if (nodeAffinity !== undefined) validateNodeAffinity(faults, nodeAffinity, 'spec.affinity.nodeAffinity');
  if (podAffinity !== undefined) validatePodAffinity(faults, podAffinity, 'spec.affinity.podAffinity');
  if (podAntiAffinity !== undefined)
    validatePodAffinity(faults, podAntiAffinity, 'spec.affinity.podAntiAffinity');
  for (const [index, toleration] of (spec.tolerations ?? []).entries()) {
    validateToleration(faults, toleration, `spec.tolerations[${index}]`);
  }
  validateSpread(faults, spec.topologySpreadConstraints ?? [], 'spec.topologySpreadConstraints');
  for (const [index, gate] of (spec.readinessGates ?? []).entries()) {
    faults.invalidAll(
      `spec.readinessGates[${index}].conditionType`,
      gate.conditionType,
      qualifiedNameFaults(gate.conditionType),
    );
  }
}
