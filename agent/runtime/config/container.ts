/** CRI configuration of one container. Pure.
 *  Source: containers of a pod, document 3 §1; CRI v1 ContainerConfig. */
import type { Container, EphemeralContainer, Pod } from '#api/gen/core-v1.ts';
import type { ContainerConfig, ImageSpec } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { MountedVolume } from '#volumes/contract/volume-manager.ts';
import { containerLogName } from '../../logs/paths.ts';
import type { ContainerKind } from '../../pod-identity/container-kind.ts';
import { containerAnnotations, containerLabels, type Owner } from '../../pod-identity/labels.ts';
import { type ContainerGrant, withGrant } from '../../resources/contract.ts';
import { expandVariables } from './expand.ts';
import { containerHash } from './hash.ts';
import { containerDevices, containerMounts } from './mounts.ts';
import { containerResources, type ResourceSettings } from './resources.ts';
import { containerSecurity, type ImageUser, type SecuritySettings } from './security.ts';

export interface ContainerInput {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly kind: ContainerKind;
  /** Number of earlier instances of this container in its pod. */
  readonly attempt: number;
  readonly owner: Owner;
  /** Image reference of the runtime after the pull, and the user that the image specifies. */
  readonly image: { readonly ref: string; readonly user: ImageUser };
  /** Result of `resolveEnv`. */
  readonly env: ReadonlyMap<string, string>;
  /** Mounted volumes of the volume manager, by volume name. */
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** Host paths of prepared subPaths, by mount index; see `decideSubPaths`. */
  readonly subPaths: ReadonlyMap<number, string>;
  /** Hosts file of the pod; `undefined` mounts none. */
  readonly hostsFile: string | undefined;
  /** Termination log of this instance; `undefined` mounts none. */
  readonly terminationLog: string | undefined;
  /** Exclusive node resources; none unless given. */
  readonly grant?: ContainerGrant;
  /** Container whose process namespace an ephemeral container joins. */
  readonly targetContainerId?: string;
  readonly extraSupplementalGroups?: readonly number[];
  readonly settings: ContainerSettings;
}

/** Settings of the agent that affect containers. */
export interface ContainerSettings {
  readonly resources: ResourceSettings;
  readonly security: SecuritySettings;
  readonly seLinux: boolean;
}

export type ContainerResult =
  | { readonly kind: 'ok'; readonly config: MessageInput<ContainerConfig> }
  | { readonly kind: 'error'; readonly reason: 'CreateContainerConfigError'; readonly message: string };

/** Returns the input of CreateContainer, or the reason why the container cannot be created. */
export function createContainerConfig(input: ContainerInput): ContainerResult {
  const { pod, container, settings, grant = {} } = input;
  const security = containerSecurity({ ...input, imageUser: input.image.user, settings: settings.security });
  if (security.kind === 'error') return failure(security.message);
  const mounts = containerMounts({ ...input, seLinux: settings.seLinux });
  if (mounts.kind === 'error') return failure(mounts.message);
  const devices = containerDevices(input);
  if (devices.kind === 'error') return failure(devices.message);
  const { stdin = false, stdinOnce = false, tty = false } = container;
  const config: MessageInput<ContainerConfig> = {
    metadata: { name: container.name, attempt: input.attempt },
    image: imageSpec(input),
    ...containerCommand(container, input.env),
    workingDir: container.workingDir ?? '',
    envs: [...new Map([...Object.entries(grant.env ?? {}), ...input.env])].map(([key, value]) => ({
      key,
      value,
    })),
    mounts: [...(grant.mounts ?? []), ...mounts.mounts],
    devices: [...(grant.devices ?? []), ...devices.devices],
    labels: containerLabels(input.owner, pod, container.name),
    annotations: {
      ...grant.annotations,
      ...containerAnnotations(input.owner, pod, {
        ...container,
        kind: input.kind,
        attempt: input.attempt,
        hash: containerHash(container),
      }),
    },
    logPath: containerLogName(container.name, input.attempt),
    stdin,
    stdinOnce,
    tty,
    linux: {
      resources: withGrant(containerResources(pod, container, settings.resources), grant),
      securityContext: security.context,
    },
  };
  return { kind: 'ok', config };
}

const imageSpec = ({ image, container }: ContainerInput): MessageInput<ImageSpec> => ({
  image: image.ref,
  userSpecifiedImage: container.image ?? '',
});

const failure = (message: string): ContainerResult => ({
  kind: 'error',
  reason: 'CreateContainerConfigError',
  message,
});

interface ContainerCommand {
  /** Empty for the image's own. */
  readonly command: readonly string[];
  readonly args: readonly string[];
}

/** Returns command and arguments with expanded `$(VAR)` references. */
export function containerCommand(
  container: { readonly command?: readonly string[]; readonly args?: readonly string[] },
  env: ReadonlyMap<string, string>,
): ContainerCommand {
  const expand = (text: string): string => expandVariables(text, (name) => env.get(name));
  return {
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
  };
}
