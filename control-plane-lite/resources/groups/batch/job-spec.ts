/** Specs of jobs, on their own and in the templates of cron jobs. Source: batch/v1. */

import type { JobSpec } from '#api/gen/batch-v1.ts';
import { matchesLabels } from '#api/meta/selectors.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';
import { validatePodTemplate } from '#api/schema/validation/pod-template.ts';
import type { StrategyContext } from '../../contract.ts';
import { requirementsOf } from '../selector.ts';
import { podOptions } from '../workload.ts';

const COUNTS = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
] as const;
const RESTART_POLICIES = ['OnFailure', 'Never'];
/** Maximum number of indexes: completed ones are stored as text in the status. */
const MAX_INDEXED_PARALLELISM = 100_000;

function validateIndexing(errors: FieldErrors, spec: JobSpec, path: string): void {
  const { completionMode, completions, parallelism = 0 } = spec;
  if (completionMode !== 'Indexed') return;
  if (completions === undefined) {
    errors.required(`${path}.completions`, 'when completion mode is Indexed');
  }
  if (parallelism > MAX_INDEXED_PARALLELISM) {
    const detail = `must be less than or equal to ${MAX_INDEXED_PARALLELISM} when completion mode is Indexed`;
    errors.invalid(`${path}.parallelism`, parallelism, detail);
  }
}

/** Everything but the selector. */
export function validateJobContent(
  errors: FieldErrors,
  spec: JobSpec,
  path: string,
  context: StrategyContext,
): void {
  for (const member of COUNTS) errors.nonNegative(`${path}.${member}`, spec[member]);
  validateIndexing(errors, spec, path);
  validatePodTemplate(errors, spec.template, `${path}.template`, podOptions(context));
  const policy = spec.template.spec?.restartPolicy;
  if (policy === undefined || policy === 'Always') {
    errors.required(`${path}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"');
  } else if (!RESTART_POLICIES.includes(policy)) {
    errors.unsupported(`${path}.template.spec.restartPolicy`, policy, RESTART_POLICIES);
  }
}

/** Validates the selector and its match with the template. */
export function validateJobSelector(errors: FieldErrors, spec: JobSpec, path: string): void {
  if (spec.selector === undefined) return errors.required(`${path}.selector`);
  validateLabelSelector(errors, spec.selector, `${path}.selector`);
  const labels = spec.template.metadata?.labels ?? {};
  if (!matchesLabels(requirementsOf(spec.selector), labels)) {
    errors.invalid(`${path}.template.metadata.labels`, labels, '`selector` does not match template `labels`');
  }
  return undefined;
}
