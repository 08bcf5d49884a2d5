/** Validation of pod templates, of kind PodTemplate and in workloads. */

import type { PodTemplateSpec } from '../../gen/core-v1.ts';
import { validateAnnotations, validateLabels } from '../../meta/labels.ts';
import { matchesLabels, type Requirement } from '../../meta/selectors.ts';
import type { FieldErrors } from './field-errors.ts';
import { type PodValidationOptions, validatePodContent } from './pod.ts';

/** Placeholder of the pod's name, which is part of the names of ephemeral volume claims and not known yet. */
const UNNAMED = { metadata: { name: 'pod' } };

/** Returns every validation error of a template at `path`, such as `spec.template`. */
export function validatePodTemplate(
  errors: FieldErrors,
  template: PodTemplateSpec,
  path: string,
  options: PodValidationOptions,
): void {
  const { labels = {}, annotations = {} } = template.metadata ?? {};
  const found = [...validateLabels(labels, 'labels'), ...validateAnnotations(annotations, 'annotations')];
  const content = validatePodContent(
    { ...template, metadata: { ...template.metadata, ...UNNAMED.metadata } },
    options,
  );
  for (const { kind, field, detail, badValue } of [...found, ...content]) {
    errors.add(kind, `${path}.${field}`, detail, badValue);
  }
  if ((template.spec?.ephemeralContainers ?? []).length > 0) {
    errors.forbidden(
      `${path}.spec.ephemeralContainers`,
      'ephemeral containers are not allowed in a template',
    );
  }
}

export interface TemplateOwner extends PodValidationOptions {
  /** Kind of the workload that owns the template. */
  readonly kind: string;
  /** Selector of the pods that the workload owns; must not be empty. */
  readonly selector: readonly Requirement[];
}

/** Returns every validation error of a template whose pods run forever and are selected by labels: of
 *  ReplicationControllers, ReplicaSets, Deployments, StatefulSets and DaemonSets. */
export function validateServiceTemplate(
  errors: FieldErrors,
  template: PodTemplateSpec | undefined,
  path: string,
  owner: TemplateOwner,
): void {
  if (template === undefined) return errors.required(path);
  const labels = template.metadata?.labels ?? {};
  if (owner.selector.length > 0 && !matchesLabels(owner.selector, labels)) {
    errors.invalid(`${path}.metadata.labels`, labels, '`selector` does not match template `labels`');
  }
  validatePodTemplate(errors, template, path, owner);
  const { restartPolicy, activeDeadlineSeconds } = template.spec ?? {};
  if (restartPolicy !== undefined && restartPolicy !== 'Always') {
    errors.unsupported(`${path}.spec.restartPolicy`, restartPolicy, ['Always']);
  }
  if (activeDeadlineSeconds !== undefined) {
    errors.forbidden(
      `${path}.spec.activeDeadlineSeconds`,
      `activeDeadlineSeconds in ${owner.kind} is not Supported`,
    );
  }
  return undefined;
}
