/** Validation of containers of all three kinds: their own members here, each larger subject in its own file. */

import type { Container, EphemeralContainer, PodSpec } from '../../gen/core-v1.ts';
import { dns1123LabelFaults } from '../../meta/names.ts';
import { validateEnv, validateEnvFrom } from './env.ts';
import type { Faults } from './faults.ts';
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

function validateName(faults: Faults, name: string, context: ListContext, path: string): void {
  if (name === '') return faults.required(path);
  faults.invalidAll(path, name, dns1123LabelFaults(name));
  if (context.names.has(name)) faults.duplicate(path, name);
  context.names.add(name);
  return undefined;
}

function validateImage(faults: Faults, image: string, path: string): void {
  if (image === '') faults.required(path);
  else if (image.trim() !== image) faults.invalid(path, image, 'must not start or end with white space');
}

function validateProcess(faults: Faults, container: AnyContainer, path: string): void {
  for (const member of ['command', 'args'] as const) {
    for (const [index, word] of (container[member] ?? []).entries()) {
      if (word.includes('\0'))
        faults.add('FieldValueInvalid', `${path}.${member}[${index}]`, 'must not contain a NUL character');
    }
  }
  if ((container.terminationMessagePolicy ?? '') === '') faults.required(`${path}.terminationMessagePolicy`);
}

/** Validates every member except those that only some kinds of container may have. */
function validateContainer(
  faults: Faults,
  container: AnyContainer,
  context: ListContext,
  path: string,
): void {
  validateName(faults, container.name, context, `${path}.name`);
  validateImage(faults, container.image ?? '', `${path}.image`);
  validateProcess(faults, container, path);
  validatePorts(faults, container.ports ?? [], context.spec.hostNetwork === true, `${path}.ports`);
  validateEnv(faults, container.env ?? [], `${path}.env`);
  validateEnvFrom(faults, container.envFrom ?? [], `${path}.envFrom`);
  validateResources(faults, container.resources ?? {}, `${path}.resources`);
  const mountContext = {
    volumes: context.spec.volumes ?? [],
    privileged: container.securityContext?.privileged === true,
    allowSubPath: !context.ephemeral,
  };
  const devices = container.volumeDevices ?? [];
  validateVolumeMounts(faults, container.volumeMounts ?? [], devices, mountContext, `${path}.volumeMounts`);
  validateVolumeDevices(faults, devices, mountContext, `${path}.volumeDevices`);
  if (container.securityContext !== undefined) {
    validateContainerSecurity(faults, container.securityContext, `${path}.securityContext`);
  }
}

function validateProbesAndHooks(faults: Faults, container: AnyContainer, path: string): void {
  for (const kind of PROBES) {
    const probe = container[kind];
    if (probe !== undefined) validateProbe(faults, kind, probe, `${path}.${kind}`);
  }
  if (container.lifecycle !== undefined) validateLifecycle(faults, container.lifecycle, `${path}.lifecycle`);
}

function forbidMembers(
  faults: Faults,
  container: AnyContainer,
  members: readonly (keyof EphemeralContainer & keyof Container)[],
  reason: string,
  path: string,
): void {
  for (const member of members) {
    const value = container[member];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    faults.forbidden(`${path}.${member}`, reason);
  }
}

function validateAppContainers(faults: Faults, context: ListContext): void {
  const { containers } = context.spec;
  if (containers.length === 0) faults.required('spec.containers', 'a pod needs at least one container');
  for (const [index, container] of containers.entries()) {
    const path = `spec.containers[${index}]`;
    validateContainer(faults, container, context, path);
    validateProbesAndHooks(faults, container, path);
    if (container.restartPolicy !== undefined) {
      faults.forbidden(`${path}.restartPolicy`, 'may be set on init containers only');
    }
  }
}

/** A sidecar (an init container with `restartPolicy: Always`) may have all members of an app container. */
function validateInitContainers(faults: Faults, context: ListContext): void {
  const { initContainers = [] } = context.spec;
  for (const [index, container] of initContainers.entries()) {
    const path = `spec.initContainers[${index}]`;
    validateContainer(faults, container, context, path);
    if (isSidecar(container)) validateProbesAndHooks(faults, container, path);
    else {
      const reason = 'init containers have it only with restartPolicy: Always';
      forbidMembers(faults, container, [...PROBES, 'lifecycle'], reason, path);
    }
  }
}

function validateEphemeralContainers(faults: Faults, context: ListContext): void {
  const { ephemeralContainers = [], containers, initContainers = [] } = context.spec;
  const targets = [...containers, ...initContainers].map((container) => container.name);
  for (const [index, container] of ephemeralContainers.entries()) {
    const path = `spec.ephemeralContainers[${index}]`;
    validateContainer(faults, container, context, path);
    const { targetContainerName = '' } = container;
    if (targetContainerName !== '' && !targets.includes(targetContainerName)) {
      faults.notFound(
        `${path}.targetContainerName`,
        targetContainerName,
        'the pod has no container of this name',
      );
    }
    const reason = 'ephemeral containers cannot have it';
    forbidMembers(faults, container, [...PROBES, 'lifecycle', 'ports'], reason, path);
    // Typed clients always write the structure, even if it is empty.
    const { limits = {}, requests = {} } = container.resources ?? {};
    if (Object.keys({ ...limits, ...requests }).length > 0) faults.forbidden(`${path}.resources`, reason);
  }
}

const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

/** App containers and sidecars run together; every other init container runs alone. */
function validateHostPorts(faults: Faults, spec: PodSpec): void {
  const inits = (spec.initContainers ?? []).map((container, index) => ({
    container,
    owner: { path: `spec.initContainers[${index}]`, ports: container.ports },
  }));
  const apps = spec.containers.map(({ ports }, index) => ({ path: `spec.containers[${index}]`, ports }));
  const sidecars = inits.filter(({ container }) => isSidecar(container)).map(({ owner }) => owner);
  validateHostPortConflicts(faults, [...sidecars, ...apps]);
  for (const { container, owner } of inits)
    if (!isSidecar(container)) validateHostPortConflicts(faults, [owner]);
}

/** Returns every validation error of the pod's containers. */
export function validateContainers(faults: Faults, spec: PodSpec): void {
  const names = new Set<string>();
  validateAppContainers(faults, { spec, names, ephemeral: false });
  validateInitContainers(faults, { spec, names, ephemeral: false });
  validateHostPorts(faults, spec);
  validateEphemeralContainers(faults, { spec, names, ephemeral: true });
}
