/** Docker's configuration of the container that holds the namespaces of a sandbox. Pure. */
import type { NamespaceMode, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import { cgroupParentOf } from './cgroup-parent.ts';
import type { NetworkKind } from './labels.ts';
import { bindMount } from './mounts.ts';
import { oomScoreAdj } from './resources.ts';
import { type SecurityOptions, userOf } from './security.ts';

export interface SandboxBodyInput {
  readonly config: PodSandboxConfig;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly network: NetworkKind;
  readonly runtimeHandler: string;
  readonly security: Pick<SecurityOptions, 'options'>;
  /** Resolver configuration of the pod on the host. */
  readonly resolvConf: string;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  /** Lowest score that the daemon may set; undefined for any. */
  readonly lowestOomScore: number | undefined;
}

/** The container must be killed after all others of its pod. */
const SANDBOX_OOM_SCORE = -998n;

const NETWORK_MODES: Readonly<Record<NetworkKind, string>> = {
  host: 'host',
  docker: 'default',
  // The plugins configure the empty namespace.
  plugins: 'none',
};

/** Logs of a container that prints nothing. */
export const NO_LOGS = { Type: 'none', Config: {} } as const;

export const isHost = (mode: NamespaceMode | undefined): boolean => mode === 'NODE';

/** Ports are numbers with a protocol: `80/tcp`. */
function ports(config: PodSandboxConfig): { readonly exposed: object; readonly bindings: object } {
  const bindings = new Map<string, { readonly HostIp: string; readonly HostPort: string }[]>();
  for (const { protocol, containerPort, hostPort, hostIp } of config.portMappings) {
    if (hostPort <= 0) continue;
    const key = `${containerPort}/${protocol.toLowerCase()}`;
    const binding = { HostIp: hostIp, HostPort: String(hostPort) };
    bindings.set(key, [...(bindings.get(key) ?? []), binding]);
  }
  return {
    exposed: Object.fromEntries([...bindings.keys()].map((key) => [key, {}])),
    bindings: Object.fromEntries(bindings),
  };
}

export function sandboxBody(input: SandboxBodyInput): object {
  const { config, network, runtimeHandler } = input;
  const context = config.linux?.securityContext;
  const namespaces = context?.namespaceOptions;
  if (config.metadata === undefined)
    throw new CallRejection('InvalidArgument', 'config.metadata: required value missing');
  const published = network === 'docker' ? ports(config) : undefined;
  return {
    Image: input.image,
    Labels: input.labels,
    User: userOf(context),
    ...(network === 'host' || config.hostname === '' ? {} : { Hostname: config.hostname }),
    ...(published === undefined ? {} : { ExposedPorts: published.exposed }),
    HostConfig: {
      LogConfig: NO_LOGS,
      NetworkMode: NETWORK_MODES[network],
      ...(network === 'host' ? { UTSMode: 'host' } : {}),
      IpcMode: isHost(namespaces?.ipc) ? 'host' : 'shareable',
      PidMode: isHost(namespaces?.pid) ? 'host' : '',
      ...(published === undefined ? {} : { PortBindings: published.bindings }),
      ...(network === 'host' ? {} : { Sysctls: config.linux?.sysctls ?? {} }),
      ...cgroupParentOf(config.linux?.cgroupParent ?? '', input.cgroupDriver),
      ...(runtimeHandler === '' ? {} : { Runtime: runtimeHandler }),
      Privileged: context?.privileged === true,
      ReadonlyRootfs: context?.readonlyRootfs === true,
      GroupAdd: (context?.supplementalGroups ?? []).map(String),
      SecurityOpt: input.security.options,
      CapAdd: [],
      CapDrop: context?.privileged === true ? [] : ['ALL'],
      OomScoreAdj: oomScoreAdj(SANDBOX_OOM_SCORE, input.lowestOomScore),
      Mounts: [bindMount('/etc/resolv.conf', input.resolvConf, false)],
      RestartPolicy: { Name: '' },
    },
  };
}
