/** Validation of pods, which are decoded and have their defaults.
 *  Pure; each subject has its own file in this folder. */

import type { Pod, PodSpec } from '../../gen/core-v1.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { dns1123SubdomainErrors } from '../../meta/names.ts';
import type { Vocabulary } from '../../vocabulary.ts';
import { validateContainers } from './containers.ts';
import { createBoundedFieldErrors, type FieldErrors } from './field-errors.ts';
import { validateMetadata } from './metadata.ts';
import { DNS_LIMITS, EXPANDED_DNS_LIMITS, validateNetwork } from './network.ts';
import { validateProfileAnnotations } from './profile-annotations.ts';
import { validateOverhead } from './resources.ts';
import { validateScheduling } from './scheduling.ts';
import { validatePodSecurity } from './security.ts';
import { validateVolumes } from './volumes.ts';

export interface PodValidationOptions {
  readonly vocabulary: Vocabulary;
  /** Reports whether the feature gate of this name is on. Default false. */
  readonly expandedDNSConfig?: boolean;
  /** Allowed values of `spec.os.name`. Default: linux, the only system that the agent supports. */
  readonly operatingSystems?: readonly string[];
  /** Whether a negative grace period is accepted, as by the API server, which treats it as one second.
   *  Default false. */
  readonly negativeGracePeriod?: boolean;
}

const NO_CONTAINERS = 'a pod needs at least one container';
const LINUX: readonly string[] = ['linux'];

const MAX_DEADLINE_SECONDS = 2 ** 31 - 1;

function validateTimes(errors: FieldErrors, spec: PodSpec, options: PodValidationOptions): void {
  if (options.negativeGracePeriod !== true) {
    errors.nonNegative('spec.terminationGracePeriodSeconds', spec.terminationGracePeriodSeconds);
  }
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_DEADLINE_SECONDS)) {
    errors.invalid(
      'spec.activeDeadlineSeconds',
      deadline,
      `must be between 1 and ${MAX_DEADLINE_SECONDS}, inclusive`,
    );
  }
}

/** Validates the names of referenced objects. */
function validateReferences(errors: FieldErrors, spec: PodSpec): void {
  for (const member of ['nodeName', 'serviceAccountName', 'priorityClassName', 'runtimeClassName'] as const) {
    const name = spec[member] ?? '';
    if (name !== '') errors.invalidAll(`spec.${member}`, name, dns1123SubdomainErrors(name));
  }
  for (const [index, secret] of (spec.imagePullSecrets ?? []).entries()) {
    if ((secret.name ?? '') === '') errors.required(`spec.imagePullSecrets[${index}].name`);
  }
}

function validateSystem(errors: FieldErrors, spec: PodSpec, options: PodValidationOptions): void {
  if ((spec.restartPolicy ?? '') === '') errors.required('spec.restartPolicy');
  const os = spec.os?.name;
  const known = options.operatingSystems ?? LINUX;
  if (os !== undefined && !known.includes(os)) errors.unsupported('spec.os.name', os, known);
  validateOverhead(errors, spec.overhead ?? {}, 'spec.overhead');
}

function validateSpec(
  errors: FieldErrors,
  podName: string,
  spec: PodSpec,
  options: PodValidationOptions,
): void {
  validateVolumes(errors, spec.volumes ?? [], podName, 'spec.volumes');
  validateContainers(errors, spec);
  validatePodSecurity(errors, spec.securityContext ?? {}, spec, 'spec.securityContext');
  validateNetwork(errors, spec, options.expandedDNSConfig === true ? EXPANDED_DNS_LIMITS : DNS_LIMITS);
  validateTimes(errors, spec, options);
  validateReferences(errors, spec);
  validateScheduling(errors, spec);
  validateSystem(errors, spec, options);
}

/** Returns every validation error of a pod, or of a template without a name, except those of its metadata. */
export function validatePodContent(pod: Pod, options: PodValidationOptions): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  if (pod.spec === undefined) errors.required('spec.containers', NO_CONTAINERS);
  else {
    // Defaults create a missing spec, without containers.
    const spec = { ...pod.spec, containers: pod.spec.containers ?? [] };
    validateSpec(errors, pod.metadata?.name ?? '', spec, options);
  }
  validateProfileAnnotations(errors, pod, options.vocabulary);
  return errors.all;
}

/** Returns every validation error of a pod. */
export function validatePod(pod: Pod, options: PodValidationOptions): readonly FieldError[] {
  return [...validateMetadata(pod.metadata, { namespaced: true }), ...validatePodContent(pod, options)];
}
