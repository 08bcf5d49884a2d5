/** Behaviour shared by the kinds that create pods from templates. */

import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import type { LabelSelector } from '#api/gen/meta-v1.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { type TemplateOwner, validateServiceTemplate } from '#api/schema/validation/pod-template.ts';
import type { StrategyContext } from '../contract.ts';
import { requirementsOf, validatePodSelector } from './selector.ts';

interface WorkloadSpec {
  readonly replicas?: number;
  readonly minReadySeconds?: number;
  readonly revisionHistoryLimit?: number;
  readonly selector?: LabelSelector;
  readonly template?: PodTemplateSpec;
}

/** Feature gates and vocabulary for the validation of pods. */
export const podOptions = ({
  vocabulary,
  gates,
}: StrategyContext): Omit<TemplateOwner, 'kind' | 'selector'> => ({
  vocabulary,
  expandedDNSConfig: gates.has('ExpandedDNSConfig'),
});

/** Validates counts, the selector and its match with the template. */
export function validateWorkload(errors: FieldErrors, spec: WorkloadSpec, kind: string): void {
  errors.nonNegative('spec.replicas', spec.replicas);
  errors.nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  errors.nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
  validatePodSelector(errors, spec.selector, 'spec.selector', kind);
}

/** The template of pods that run for ever. */
export function validateWorkloadTemplate(
  errors: FieldErrors,
  spec: WorkloadSpec,
  kind: string,
  context: StrategyContext,
): void {
  const owner: TemplateOwner = { ...podOptions(context), kind, selector: requirementsOf(spec.selector) };
  validateServiceTemplate(errors, spec.template, 'spec.template', owner);
}
