/** Templates of pods, on their own and in the objects that make pods of them. */
import { validateAnnotations, validateLabels } from '../../meta/labels.ts';
import { matchesLabels, type Requirement } from '../../meta/selectors.ts';
import type { PodTemplateSpec } from '../gen/core-v1.ts';
import type { Faults } from './faults.ts';
import { type PodValidationOptions, validatePodContent } from './pod.ts';

/** Volume claims of ephemeral volumes get the pod's name, which is not known yet. */
const UNNAMED = { metadata: { name: 'pod' } };

/** Every fault of a template that stands at `path`, such as `spec.template`. */
export function validatePodTemplate(
  faults: Faults,
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
    faults.add(kind, `${path}.${field}`, detail, badValue);
  }
  if ((template.spec?.ephemeralContainers ?? []).length > 0) {
    faults.forbidden(
      `${path}.spec.ephemeralContainers`,
      'ephemeral containers are not allowed in a template',
    );
  }
}

export interface TemplateOwner extends PodValidationOptions {
  /** Kind of the object that makes pods of the template. */
  readonly kind: string;
  /** Which pods the object takes for its own; must not be empty. */
  readonly selector: readonly Requirement[];
}

/** Every fault of a template whose pods run for ever and are known by a selector: of ReplicationControllers,
 *  ReplicaSets, Deployments, StatefulSets and DaemonSets. */
export function validateServiceTemplate(
  faults: Faults,
  template: PodTemplateSpec | undefined,
  path: string,
  owner: TemplateOwner,
): void {
  if (template === undefined) return faults.required(path);
  const labels = template.metadata?.labels ?? {};
  if (owner.selector.length > 0 && !matchesLabels(owner.selector, labels)) {
    faults.invalid(`${path}.metadata.labels`, labels, '`selector` does not match template `labels`');
  }
  validatePodTemplate(faults, template, path, owner);
  const { restartPolicy, activeDeadlineSeconds } = template.spec ?? {};
  if (restartPolicy !== undefined && restartPolicy !== 'Always') {
    faults.unsupported(`${path}.spec.restartPolicy`, restartPolicy, ['Always']);
  }
  if (activeDeadlineSeconds !== undefined) {
    faults.forbidden(
      `${path}.spec.activeDeadlineSeconds`,
      `activeDeadlineSeconds in ${owner.kind} is not Supported`,
    );
  }
  return undefined;
}
