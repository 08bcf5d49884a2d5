/** Jobs. The pods of a job carry its UID in a label, by which the job selects them. Source: batch/v1. */
import { isDeepStrictEqual } from 'node:util';
import type { Job, JobSpec, JobStatus } from '#api/gen/batch-v1.ts';
import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import { dns1123LabelErrors } from '#api/meta/names.ts';
import { parseTime } from '#api/meta/time.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry, StrategyContext } from '../../contract.ts';
import { ageOf, containerCells, formatAge, formatSelectorCell } from '../../rows.ts';
import { validateCounts } from '../amounts.ts';
import { kindStrategy, type Mutable, statusPart, validateImmutable } from '../kind.ts';
import { validateJobContent, validateJobSelector } from './job-spec.ts';

const UID_LABEL = 'controller-uid';
const NAME_LABEL = 'job-name';

/** Sets the labels of the pods and their selector. Values of the client remain and are validated. */
function generateSelector(draft: Mutable<Job>): void {
  const { spec, metadata } = draft;
  if (spec === undefined || spec.manualSelector === true) return;
  const uid = metadata?.uid ?? '';
  spec.template.metadata ??= {};
  spec.template.metadata.labels = {
    [UID_LABEL]: uid,
    [NAME_LABEL]: metadata?.name ?? '',
    ...spec.template.metadata.labels,
  };
  spec.selector ??= {};
  spec.selector.matchLabels = { [UID_LABEL]: uid, ...spec.selector.matchLabels };
}

/** A job without labels has those of its template, the generated ones included: the default that every update would
 *  fill in. */
function copyLabels({ metadata, spec }: Mutable<Job>): void {
  const labels = spec?.template.metadata?.labels;
  if (metadata === undefined || labels === undefined) return;
  if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
}

/** Tracking of pods with finalizers is decided on creation and is immutable. */
function noteTracking({ metadata }: Mutable<Job>, { gates, vocabulary }: StrategyContext): void {
  if (metadata === undefined) return;
  const tracking = `batch.${vocabulary.domain}/job-tracking`;
  const { [tracking]: given, ...others } = metadata.annotations ?? {};
  if (gates.has('JobTrackingWithFinalizers')) metadata.annotations = { ...others, [tracking]: '' };
  else if (given !== undefined) metadata.annotations = others;
}

/** The label that was generated follows the name. */
function followName({ metadata, spec }: Mutable<Job>, oldName: string): void {
  const labels = spec?.template.metadata?.labels;
  if (labels === undefined || spec?.manualSelector === true || labels[NAME_LABEL] !== oldName) return;
  labels[NAME_LABEL] = metadata?.name ?? '';
  if (metadata?.labels?.[NAME_LABEL] === oldName) metadata.labels[NAME_LABEL] = metadata.name ?? '';
}

function validateGenerated(errors: FieldErrors, { metadata, spec }: Job): void {
  if (spec === undefined || spec.manualSelector === true) return;
  const labels = spec.template.metadata?.labels ?? {};
  const uid = metadata?.uid ?? '';
  const expected = { [UID_LABEL]: uid, [NAME_LABEL]: metadata?.name ?? '' };
  for (const [label, value] of Object.entries(expected)) {
    if (labels[label] === value) continue;
    errors.invalid(`spec.template.metadata.labels[${label}]`, labels[label] ?? null, `must be '${value}'`);
  }
  const { matchLabels = {}, matchExpressions = [] } = spec.selector ?? {};
  const isGenerated =
    matchExpressions.length === 0 && isDeepStrictEqual({ ...matchLabels }, { [UID_LABEL]: uid });
  if (!isGenerated) errors.invalid('spec.selector', spec.selector ?? null, '`selector` not auto-generated');
}

/** Pods of an indexed job are named after it, and their host names as well. */
function validateHostNames(errors: FieldErrors, { metadata, spec }: Job): void {
  if (spec?.completionMode !== 'Indexed' || (spec.completions ?? 0) <= 0) return;
  const name = `${metadata?.name ?? ''}-${(spec.completions ?? 0) - 1}`;
  for (const error of dns1123LabelErrors(name)) {
    errors.invalid('metadata.name', metadata?.name, `will not be able to create pod '${name}': ${error}`);
  }
}

/** Returns the template without scheduling directives. */
function withoutDirectives(template: PodTemplateSpec | undefined): unknown {
  const { labels: _, annotations: __, ...metadata } = template?.metadata ?? {};
  const { nodeSelector: ___, tolerations: ____, affinity = {}, ...spec } = template?.spec ?? {};
  const { nodeAffinity: _____, ...others } = affinity;
  return { ...template, metadata, spec: { ...spec, affinity: others } };
}

function validateChange(
  errors: FieldErrors,
  spec: JobSpec,
  old: JobSpec,
  status: JobStatus | undefined,
  gates: ReadonlySet<string>,
): void {
  validateImmutable(errors, spec.completions, old.completions, 'spec.completions');
  validateImmutable(errors, spec.selector, old.selector, 'spec.selector');
  // A job that was never started may still be sent elsewhere.
  const movable =
    gates.has('JobMutableNodeSchedulingDirectives') &&
    old.suspend === true &&
    status?.startTime === undefined;
  const [template, before] = movable
    ? [withoutDirectives(spec.template), withoutDirectives(old.template)]
    : [spec.template, old.template];
  validateImmutable(errors, template, before, 'spec.template');
  validateImmutable(errors, spec.completionMode, old.completionMode, 'spec.completionMode');
}

function completionsCell({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec?.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationCell({ status }: Job, nowMs: number): string {
  if (status?.startTime === undefined) return '';
  const endMs = status.completionTime === undefined ? nowMs : parseTime(status.completionTime);
  return formatAge(endMs - parseTime(status.startTime));
}

export const job: KindEntry = {
  strategy: kindStrategy<Job>({
    // Default of this version: deleting a job without a propagation policy orphans its pods.
    defaultPropagation: 'orphan',
    prepareForCreate(draft, context) {
      generateSelector(draft);
      copyLabels(draft);
      noteTracking(draft, context);
    },
    renamed: followName,
    validate(errors, object, context) {
      if (object.spec === undefined) return errors.required('spec');
      validateGenerated(errors, object);
      validateJobContent(errors, object.spec, 'spec', context);
      validateJobSelector(errors, object.spec, 'spec');
      validateHostNames(errors, object);
      return undefined;
    },
    validateUpdate(errors, { spec }, { spec: old, status }, { gates }) {
      if (spec !== undefined && old !== undefined) validateChange(errors, spec, old, status, gates);
    },
    selectableFields: { 'status.successful': ({ status }) => String(status?.succeeded ?? 0) },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      completionsCell(object),
      durationCell(object, nowMs),
      ageOf(object, nowMs),
      ...containerCells(object.spec?.template.spec),
      formatSelectorCell(object.spec?.selector),
    ],
  }),
  parts: {
    status: statusPart<Job>({
      validate: (errors, { status }) =>
        validateCounts<JobStatus>(errors, status, ['active', 'succeeded', 'failed', 'ready']),
    }),
  },
};
