/** The mounts of a container, from volumes that are ready on the host. Pure.
 *  Spec: CRI v1 Mount; upstream's rules for the hosts file and the termination log. */
import { posix } from 'node:path';
import type { Container, EphemeralContainer, Pod, VolumeMount } from '#api/schema/gen/core-v1.ts';
import type { Mount as CriMount, MountPropagation } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { MountedVolume } from '#volumes/types.ts';
import { expandStrictly } from './expand.ts';

type Mount = MessageInput<CriMount>;
type MountableContainer = Pick<
  Container | EphemeralContainer,
  'name' | 'volumeMounts' | 'terminationMessagePath'
>;

/** A subPath that the volumes room has to bind before the container is made. */
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

/** The subPaths of a container, with `$(VAR)` of subPathExpr replaced. An unknown variable, an absolute path
 *  and `..` are refused: the value may come from a label that a stranger chose. */
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
  /** The pod's managed hosts file; `undefined` when the pod has no address to put in it. */
  readonly hostsFile: string | undefined;
  /** An empty file of this container alone; `undefined` when it has no termination message path. */
  readonly terminationLog: string | undefined;
  /** Whether SELinux is enforced on this node. */
  readonly seLinux: boolean;
}

export type MountsResult =
  | { readonly kind: 'ok'; readonly mounts: readonly Mount[] }
  | { readonly kind: 'error'; readonly message: string };

/** Whether the agent's hosts file is mounted: not over a mount that the container brings itself. */
export function mountsHostsFile(container: Pick<MountableContainer, 'volumeMounts'>): boolean {
  return !(container.volumeMounts ?? []).some(
    ({ mountPath }) => posix.resolve('/', mountPath) === HOSTS_FILE,
  );
}

/** All mounts of the container, or which volume isn't there. */
export function containerMounts(input: MountsInput): MountsResult {
  const { container, hostsFile, terminationLog, seLinux } = input;
  const mounts: Mount[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const made = volumeMount(input, mount, index);
    if (typeof made === 'string') return { kind: 'error', message: made };
    mounts.push(made);
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

/** The mount, or what is wrong with it. */
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
