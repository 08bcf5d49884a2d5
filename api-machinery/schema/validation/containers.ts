/** Validation of containers of all three kinds: their own members here, each larger subject in its own file. */

import type { Container, EphemeralContainer, PodSpec } from '../../gen/core-v1.ts';
import { dns1123LabelErrors } from '../../meta/names.ts';
import { validateEnv, validateEnvFrom } from './env.ts';
import type { FieldErrors } from './field-errors.ts';
import { type ProbeKind, validateLifecycle, validateProbe } from './handlers.ts';
import { validateVolumeDevices, validateVolumeMounts } from './mounts.ts';
import { validateHostPortConflicts, validatePorts } from './ports.ts';
import { validateResources } from './resources.ts';
import { validateContainerSecurity } from './security.ts';

const PROBES: readonly ProbeKind[] = ['livenessProbe', 'readinessProbe', 'startupProbe'];

type AnyContainer = Container | EphemeralContainer;

/** Shared state while the containers of one list are validated. */
interface ListContext {
  readonly spec: PodSpec;
  /** Names of the containers validated so far; grows. */
  readonly names: Set<string>;
  readonly ephemeral: boolean;
}

function validateName(errors: FieldErrors, name: string, context: ListContext, path: string): void {
  if (name === '') return errors.required(path);
  errors.invalidAll(path, name, dns1123LabelErrors(name));
  if (context.names.has(name)) errors.duplicate(path, name);
  context.names.add(name);
  return undefined;
}

function validateImage(errors: FieldErrors, image: string, path: string): void {
  if (image === '') errors.required(path);
  else if (image.trim() !== image) errors.invalid(path, image, 'must not start or end with white space');
}

function validateProcess(errors: FieldErrors, container: AnyContainer, path: string): void {
  for (const member of ['command', 'args'] as const) {
    for (const [index, word] of (container[member] ?? []).entries()) {
      if (word.includes('\0'))
        errors.add('FieldValueInvalid', `${path}.${member}[${index}]`, 'must not contain a NUL character');
    }
  }
  if ((container.terminationMessagePolicy ?? '') === '') errors.required(`${path}.terminationMessagePolicy`);
}

/** Validates every member except those that only some kinds of container may have. */
function validateContainer(
  errors: FieldErrors,
  container: AnyContainer,
  context: ListContext,
  path: string,
): void {
  validateName(errors, container.name, context, `${path}.name`);
  validateImage(errors, container.image ?? '', `${path}.image`);
  validateProcess(errors, container, path);
  validatePorts(errors, container.ports ?? [], context.spec.hostNetwork === true, `${path}.ports`);
  validateEnv(errors, container.env ?? [], `${path}.env`);
  validateEnvFrom(errors, container.envFrom ?? [], `${path}.envFrom`);
  validateResources(errors, container.resources ?? {}, `${path}.resources`);
  const mountContext = {
    volumes: context.spec.volumes ?? [],
    privileged: container.securityContext?.privileged === true,
    allowSubPath: !context.ephemeral,
  };
  const devices = container.volumeDevices ?? [];
  validateVolumeMounts(errors, container.volumeMounts ?? [], devices, mountContext, `${path}.volumeMounts`);
  validateVolumeDevices(errors, devices, mountContext, `${path}.volumeDevices`);
  if (container.securityContext !== undefined) {
    validateContainerSecurity(errors, container.securityContext, `${path}.securityContext`);
  }
}

function validateProbesAndHooks(errors: FieldErrors, container: AnyContainer, path: string): void {
  for (const kind of PROBES) {
    const probe = container[kind];
    if (probe !== undefined) validateProbe(errors, kind, probe, `${path}.${kind}`);
  }
  if (container.lifecycle !== undefined) validateLifecycle(errors, container.lifecycle, `${path}.lifecycle`);
}

function forbidMembers(
  errors: FieldErrors,
  container: AnyContainer,
  members: readonly (keyof EphemeralContainer & keyof Container)[],
  reason: string,
  path: string,
): void {
  for (const member of members) {
    const value = container[member];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    errors.forbidden(`${path}.${member}`, reason);
  }
}

function validateAppContainers(errors: FieldErrors, context: ListContext): void {
  const { containers } = context.spec;
  if (containers.length === 0) errors.required('spec.containers', 'a pod needs at least one container');
  for (const [index, container] of containers.entries()) {
    const path = `spec.containers[${index}]`;
    validateContainer(errors, container, context, path);
    validateProbesAndHooks(errors, container, path);
    if (container.restartPolicy !== undefined) {
      errors.forbidden(`${path}.restartPolicy`, 'may be set on init containers only');
    }
  }
}

/** A sidecar (an init container with `restartPolicy: Always`) may have all members of an app container. */
function validateInitContainers(errors: FieldErrors, context: ListContext): void {
  const { initContainers = [] } = context.spec;
  for (const [index, container] of initContainers.entries()) {
    const path = `spec.initContainers[${index}]`;
    validateContainer(errors, container, context, path);
    if (isSidecar(container)) validateProbesAndHooks(errors, container, path);
    else {
      const reason = 'init containers have it only with restartPolicy: Always';
      forbidMembers(errors, container, [...PROBES, 'lifecycle'], reason, path);
    }
  }
}

function validateEphemeralContainers(errors: FieldErrors, context: ListContext): void {
  const { ephemeralContainers = [], containers, initContainers = [] } = context.spec;
  const targets = [...containers, ...initContainers].map((container) => container.name);
  for (const [index, container] of ephemeralContainers.entries()) {
    const path = `spec.ephemeralContainers[${index}]`;
    validateContainer(errors, container, context, path);
    const { targetContainerName = '' } = container;
    if (targetContainerName !== '' && !targets.includes(targetContainerName)) {
      errors.notFound(
        `${path}.targetContainerName`,
        targetContainerName,
        'the pod has no container of this name',
      );
    }
    const reason = 'ephemeral containers cannot have it';
    forbidMembers(errors, container, [...PROBES, 'lifecycle', 'ports'], reason, path);
    // Typed clients always write the structure, even if it is empty.
    const { limits = {}, requests = {} } = container.resources ?? {};
    if (Object.keys({ ...limits, ...requests }).length > 0) errors.forbidden(`${path}.resources`, reason);
  }
}

const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

/** App containers and sidecars run together; every other init container runs alone. */
function validateHostPorts(errors: FieldErrors, spec: PodSpec): void {
  const inits = (spec.initContainers ?? []).map((container, index) => ({
    container,
    owner: { path: `spec.initContainers[${index}]`, ports: container.ports },
  }));
  const apps = spec.containers.map(({ ports }, index) => ({ path: `spec.containers[${index}]`, ports }));
  const sidecars = inits.filter(({ container }) => isSidecar(container)).map(({ owner }) => owner);
  validateHostPortConflicts(errors, [...sidecars, ...apps]);
  for (const { container, owner } of inits)
    if (!isSidecar(container)) validateHostPortConflicts(errors, [owner]);
}

/** Returns every validation error of the pod's containers. */
export function validateContainers(errors: FieldErrors, spec: PodSpec): void {
  const names = new Set<string>();
  validateAppContainers(errors, { spec, names, ephemeral: false });
  validateInitContainers(errors, { spec, names, ephemeral: false });
  validateHostPorts(errors, spec);
  validateEphemeralContainers(errors, { spec, names, ephemeral: true });
}
