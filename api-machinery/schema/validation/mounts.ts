/** Validation of volume mounts and block devices of containers. */

import type { Volume, VolumeDevice, VolumeMount } from '../../gen/core-v1.ts';
import { parentElementErrors, relativePathErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';

export interface MountContext {
  readonly volumes: readonly Volume[];
  readonly privileged: boolean;
  /** False for ephemeral containers. */
  readonly allowSubPath: boolean;
}

function validateSubPaths(
  errors: FieldErrors,
  mount: VolumeMount,
  context: MountContext,
  path: string,
): void {
  const { subPath = '', subPathExpr = '' } = mount;
  for (const [member, text] of [
    ['subPath', subPath],
    ['subPathExpr', subPathExpr],
  ] as const) {
    if (text === '') continue;
    errors.invalidAll(`${path}.${member}`, text, relativePathErrors(text));
    if (!context.allowSubPath) errors.forbidden(`${path}.${member}`, 'ephemeral containers cannot have it');
  }
  if (subPath !== '' && subPathExpr !== '') {
    errors.invalid(`${path}.subPathExpr`, subPathExpr, 'subPath and subPathExpr must not both be set');
  }
}

/** Returns every validation error of a container's mounts. */
export function validateVolumeMounts(
  errors: FieldErrors,
  mounts: readonly VolumeMount[],
  devices: readonly VolumeDevice[],
  context: MountContext,
  path: string,
): void {
  const mountPaths = new Set<string>();
  for (const [index, mount] of mounts.entries()) {
    const at = `${path}[${index}]`;
    validateVolumeName(errors, mount.name, context, `${at}.name`);
    if (mount.mountPath === '') errors.required(`${at}.mountPath`);
    else if (mountPaths.has(mount.mountPath)) {
      errors.invalid(`${at}.mountPath`, mount.mountPath, 'must be unique within the container');
    }
    if (mount.mountPath.includes(':'))
      errors.invalid(`${at}.mountPath`, mount.mountPath, "must not contain ':'");
    mountPaths.add(mount.mountPath);
    if (devices.some((device) => device.name === mount.name)) {
      errors.invalid(`${at}.name`, mount.name, 'volume is already used as a device in volumeDevices');
    }
    if (devices.some((device) => device.devicePath === mount.mountPath)) {
      errors.invalid(`${at}.mountPath`, mount.mountPath, 'path is already used in volumeDevices');
    }
    validateSubPaths(errors, mount, context, at);
    if (mount.mountPropagation === 'Bidirectional' && !context.privileged) {
      errors.forbidden(`${at}.mountPropagation`, 'Bidirectional is for privileged containers only');
    }
  }
}

function validateVolumeName(errors: FieldErrors, name: string, context: MountContext, path: string): void {
  if (name === '') errors.required(path);
  else if (!context.volumes.some((volume) => volume.name === name)) {
    errors.notFound(path, name, 'the pod has no volume of this name');
  }
}

/** Returns every validation error of a container's block devices, which only claims can provide. */
export function validateVolumeDevices(
  errors: FieldErrors,
  devices: readonly VolumeDevice[],
  context: MountContext,
  path: string,
): void {
  if (devices.length === 0) return;
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [index, device] of devices.entries()) {
    const at = `${path}[${index}]`;
    validateVolumeName(errors, device.name, context, `${at}.name`);
    if (names.has(device.name))
      errors.invalid(`${at}.name`, device.name, 'must be unique within the container');
    names.add(device.name);
    const volume = context.volumes.find((candidate) => candidate.name === device.name);
    if (
      volume !== undefined &&
      volume.persistentVolumeClaim === undefined &&
      volume.ephemeral === undefined
    ) {
      errors.invalid(`${at}.name`, device.name, 'a device must come from a persistent volume claim');
    }
    if (device.devicePath === '') errors.required(`${at}.devicePath`);
    else if (paths.has(device.devicePath)) {
      errors.invalid(`${at}.devicePath`, device.devicePath, 'must be unique within the container');
    }
    errors.invalidAll(`${at}.devicePath`, device.devicePath, parentElementErrors(device.devicePath));
    paths.add(device.devicePath);
  }
}
