/** Docker's configuration of a container that joins the namespaces of a sandbox. Pure. */
import type { ContainerConfig, LinuxContainerSecurityContext, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import { cgroupParentOf } from './cgroup-parent.ts';
import { bindMount, dockerMounts } from './mounts.ts';
import { dockerResources, oomScoreAdj } from './resources.ts';
import { isHost, NO_LOGS } from './sandbox-body.ts';
import { type SecurityOptions, userOf } from './security.ts';

export interface ContainerBodyInput {
  readonly config: ContainerConfig;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly security: Pick<SecurityOptions, 'options'>;
  readonly resolvConf: string;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly selinux: boolean;
  readonly lowestOomScore: number | undefined;
}

/** Docker's own copy of the output, from which the log of the pod is written. */
const LOGS = { Type: 'json-file', Config: { 'max-size': '20m', 'max-file': '2' } } as const;
const RESOLV_CONF = '/etc/resolv.conf';

function pidMode(input: ContainerBodyInput): string {
  const options = input.config.linux?.securityContext?.namespaceOptions;
  const mode = options?.pid;
  switch (mode) {
    case 'NODE':
      return 'host';
    case 'TARGET':
      return `container:${options?.targetId ?? ''}`;
    case 'CONTAINER':
      return '';
    case 'POD':
      return `container:${input.sandboxId}`;
    case undefined:
      return '';
    default:
      return mode satisfies never;
  }
}

/** `ALL` of CRI is docker's as well; names have no prefix in either. */
function capabilities(context: LinuxContainerSecurityContext | undefined): object {
  if (context === undefined || context.privileged) return {};
  const { addCapabilities = [], dropCapabilities = [] } = context.capabilities ?? {};
  return { CapAdd: addCapabilities, CapDrop: dropCapabilities };
}

/** Without a security context, docker's own defaults apply. */
function paths(context: LinuxContainerSecurityContext | undefined): object {
  if (context === undefined || context.privileged) return {};
  return { MaskedPaths: context.maskedPaths, ReadonlyPaths: context.readonlyPaths };
}

function process({ config }: ContainerBodyInput): object {
  const { command, args, workingDir, stopSignal } = config;
  return {
    ...(command.length === 0 ? {} : { Entrypoint: command }),
    ...(args.length === 0 ? {} : { Cmd: args }),
    ...(workingDir === '' ? {} : { WorkingDir: workingDir }),
    Env: config.envs.map(({ key, value }) => `${key}=${value}`),
    OpenStdin: config.stdin,
    StdinOnce: config.stdinOnce,
    Tty: config.tty,
    ...(stopSignal === 'RUNTIME_DEFAULT'
      ? {}
      : { StopSignal: stopSignal.replace('PLUS', '+').replace('MINUS', '-') }),
  };
}

export function containerBody(input: ContainerBodyInput): object {
  const { config, sandboxId, sandboxConfig, runtimeHandler } = input;
  const { resources, securityContext: context } = config.linux ?? {};
  const sandboxSpaces = sandboxConfig.linux?.securityContext?.namespaceOptions;
  const spaces = context?.namespaceOptions ?? sandboxSpaces;
  const mounts = dockerMounts(config.mounts, input.selinux);
  const hasResolver = config.mounts.some(({ containerPath }) => containerPath === RESOLV_CONF);
  const isReadOnly = context?.readonlyRootfs === true;
  return {
    Image: config.image?.image ?? '',
    Labels: input.labels,
    User: userOf(context),
    ...process(input),
    HostConfig: {
      LogConfig: config.logPath === '' ? NO_LOGS : LOGS,
      NetworkMode: isHost(spaces?.network) ? 'host' : `container:${sandboxId}`,
      ...(isHost(spaces?.network) ? { UTSMode: 'host' } : {}),
      IpcMode: isHost(spaces?.ipc) ? 'host' : `container:${sandboxId}`,
      PidMode: pidMode(input),
      ...cgroupParentOf(sandboxConfig.linux?.cgroupParent ?? '', input.cgroupDriver),
      ...(runtimeHandler === '' ? {} : { Runtime: runtimeHandler }),
      ...dockerResources(resources),
      OomScoreAdj: oomScoreAdj(resources?.oomScoreAdj ?? 0n, input.lowestOomScore),
      Privileged: context?.privileged === true,
      ReadonlyRootfs: isReadOnly,
      GroupAdd: (context?.supplementalGroups ?? []).map(String),
      SecurityOpt: input.security.options,
      ...capabilities(context),
      ...paths(context),
      Devices: config.devices.map(({ hostPath, containerPath, permissions }) => ({
        PathOnHost: hostPath,
        PathInContainer: containerPath,
        CgroupPermissions: permissions,
      })),
      Binds: mounts.Binds,
      Mounts: hasResolver
        ? mounts.Mounts
        : [...mounts.Mounts, bindMount(RESOLV_CONF, input.resolvConf, isReadOnly)],
      RestartPolicy: { Name: '' },
    },
  };
}
