/** Mounts in docker's form. Pure. */
import type { Mount, MountPropagation } from '#cri/gen/cri-v1.ts';

const PROPAGATIONS: Readonly<Record<MountPropagation, string>> = {
  PROPAGATION_PRIVATE: 'rprivate',
  PROPAGATION_HOST_TO_CONTAINER: 'rslave',
  PROPAGATION_BIDIRECTIONAL: 'rshared',
};

export const bindMount = (
  target: string,
  source: string,
  readOnly: boolean,
  propagation: MountPropagation = 'PROPAGATION_PRIVATE',
): object => ({
  Type: 'bind',
  Source: source,
  Target: target,
  ReadOnly: readOnly,
  BindOptions: { Propagation: PROPAGATIONS[propagation] },
});

/** Only the older text form has labels of SELinux; its paths contain no colons, see `requireSupported`. */
const bindText = ({ hostPath, containerPath, readonly, propagation }: Mount): string =>
  `${hostPath}:${containerPath}:${[readonly ? 'ro' : 'rw', 'Z', PROPAGATIONS[propagation]].join(',')}`;

export interface DockerMounts {
  readonly Mounts: readonly object[];
  readonly Binds: readonly string[];
}

export function dockerMounts(mounts: readonly Mount[], selinux: boolean): DockerMounts {
  const isText = (mount: Mount): boolean => selinux && mount.selinuxRelabel;
  return {
    Mounts: mounts
      .filter((mount) => !isText(mount))
      .map(({ containerPath, hostPath, readonly, propagation }) =>
        bindMount(containerPath, hostPath, readonly, propagation),
      ),
    Binds: mounts.filter(isText).map(bindText),
  };
}
