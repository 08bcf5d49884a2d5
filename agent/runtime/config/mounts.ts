/** Mounts and block devices of a container, from volumes that are mounted or mapped on the host. Pure.
 *  Source: CRI v1 Mount and Device; upstream's rules for the hosts file and the termination log, and its
 *  permissions of block volumes, release 1.24. */

import { posix } from 'node:path';
import type { Container, EphemeralContainer, Pod, VolumeMount } from '#api/gen/core-v1.ts';
import type { Mount as CriMount, Device, MountPropagation } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { MountedVolume } from '#volumes/contract/volume-manager.ts';
import { expandStrictly } from './expand.ts';

type Mount = MessageInput<CriMount>;
type MountableContainer = Pick<
  Container | EphemeralContainer,
  'name' | 'volumeMounts' | 'terminationMessagePath'
>;

/** A subPath that the volume manager must bind-mount before the container is created. */
export interface SubPathNeed {
  readonly mountIndex: number;
  readonly volumeName: string;
  /** Relative path inside the volume, expanded. */
  readonly subPath: string;
}

export type SubPathsResult =
  | { readonly kind: 'ok'; readonly needs: readonly SubPathNeed[] }
  | { readonly kind: 'error'; readonly message: string };

const HOSTS_FILE = '/etc/hosts';
const DEFAULT_TERMINATION_LOG = '/dev/termination-log';

/** Returns the subPaths of a container, with `$(VAR)` of subPathExpr expanded. Unknown variables, absolute
 *  paths and `..` are rejected: the value may come from a label of an untrusted client. */
export function decideSubPaths(
  container: Pick<MountableContainer, 'volumeMounts'>,
  env: ReadonlyMap<string, string>,
): SubPathsResult {
  const needs: SubPathNeed[] = [];
  for (const [mountIndex, mount] of (container.volumeMounts ?? []).entries()) {
    const { subPathExpr = '', name } = mount;
    const expanded = expandStrictly(subPathExpr, (variable) => env.get(variable));
    if (expanded.missing.length > 0) {
      const message = `subPathExpr ${JSON.stringify(subPathExpr)} of volume ${name} uses unknown variables: ${expanded.missing.join(', ')}`;
      return { kind: 'error', message };
    }
    const subPath = subPathExpr === '' ? (mount.subPath ?? '') : expanded.text;
    if (subPath === '') continue;
    if (posix.isAbsolute(subPath) || subPath.split('/').includes('..')) {
      const message = `subPath ${JSON.stringify(subPath)} of volume ${name} must be relative and without ".."`;
      return { kind: 'error', message };
    }
    needs.push({ mountIndex, volumeName: name, subPath });
  }
  return { kind: 'ok', needs };
}

export interface MountsInput {
  readonly pod: Pod;
  readonly container: MountableContainer;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** Host paths of prepared subPaths by mount index. */
  readonly subPaths: ReadonlyMap<number, string>;
  /** Managed hosts file of the pod; `undefined` when the pod has no address. */
  readonly hostsFile: string | undefined;
  /** Empty file of this container instance; `undefined` without a termination message path. */
  readonly terminationLog: string | undefined;
  /** Whether SELinux is enforcing on this node. */
  readonly seLinux: boolean;
}

export type MountsResult =
  | { readonly kind: 'ok'; readonly mounts: readonly Mount[] }
  | { readonly kind: 'error'; readonly message: string };

/** Reports whether the managed hosts file is mounted: not over a mount of the container spec. */
export function mountsHostsFile(container: Pick<MountableContainer, 'volumeMounts'>): boolean {
  return !(container.volumeMounts ?? []).some(
    ({ mountPath }) => posix.resolve('/', mountPath) === HOSTS_FILE,
  );
}

/** Returns all mounts of the container, or an error naming the missing volume. */
export function containerMounts(input: MountsInput): MountsResult {
  const { container, hostsFile, terminationLog, seLinux } = input;
  const mounts: Mount[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const result = volumeMount(input, mount, index);
    if (typeof result === 'string') return { kind: 'error', message: result };
    mounts.push(result);
  }
  if (hostsFile !== undefined && mountsHostsFile(container)) {
    mounts.push({ containerPath: HOSTS_FILE, hostPath: hostsFile, readonly: false, selinuxRelabel: seLinux });
  }
  const containerPath = container.terminationMessagePath ?? DEFAULT_TERMINATION_LOG;
  if (terminationLog !== undefined && containerPath !== '') {
    mounts.push({ containerPath, hostPath: terminationLog, readonly: false, selinuxRelabel: seLinux });
  }
  return { kind: 'ok', mounts };
}

/** Returns the mount, or the error. */
function volumeMount(input: MountsInput, mount: VolumeMount, index: number): Mount | string {
  const volume = input.volumes.get(mount.name);
  if (volume === undefined) return `volume ${mount.name} of container ${input.container.name} is not mounted`;
  const hasSubPath = (mount.subPath ?? '') !== '' || (mount.subPathExpr ?? '') !== '';
  const subPath = input.subPaths.get(index);
  if (hasSubPath && subPath === undefined) {
    return `subPath of volume ${mount.name} of container ${input.container.name} is not prepared`;
  }
  return {
    containerPath: posix.resolve('/', mount.mountPath),
    hostPath: subPath ?? volume.hostPath,
    readonly: mount.readOnly === true || volume.readOnly,
    selinuxRelabel: volume.seLinuxRelabel && input.seLinux,
    propagation: propagationOf(mount),
  };
}

function propagationOf({ mountPropagation = 'None' }: VolumeMount): MountPropagation {
  switch (mountPropagation) {
    case 'None':
      return 'PROPAGATION_PRIVATE';
    case 'HostToContainer':
      return 'PROPAGATION_HOST_TO_CONTAINER';
    case 'Bidirectional':
      return 'PROPAGATION_BIDIRECTIONAL';
    default:
      return mountPropagation satisfies never;
  }
}

export interface DevicesInput {
  readonly container: Pick<Container | EphemeralContainer, 'name' | 'volumeDevices'>;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
}

export type DevicesResult =
  | { readonly kind: 'ok'; readonly devices: readonly Device[] }
  | { readonly kind: 'error'; readonly message: string };

/** Returns all block devices of the container, or an error naming the unmapped one. */
export function containerDevices({ container, volumes }: DevicesInput): DevicesResult {
  const devices: Device[] = [];
  for (const { name, devicePath } of container.volumeDevices ?? []) {
    const volume = volumes.get(name);
    if (volume === undefined) {
      return { kind: 'error', message: `block volume ${name} of container ${container.name} is not mapped` };
    }
    devices.push({
      containerPath: posix.resolve('/', devicePath),
      hostPath: volume.hostPath,
      // Read, write and mknod.
      permissions: volume.readOnly ? 'r' : 'mrw',
    });
  }
  return { kind: 'ok', devices };
}
