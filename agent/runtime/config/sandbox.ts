/** CRI configuration of the sandbox of a pod. Pure.
 *  Source: pods and their sandboxes, document 3 §1; CRI v1 PodSandboxConfig. */

import type { Container, Pod } from '#api/gen/core-v1.ts';
import { exactMilliValue, exactValue } from '#api/meta/quantity.ts';
import type {
  LinuxPodSandboxConfig,
  LinuxSandboxSecurityContext,
  PodSandboxConfig,
  PortMapping,
} from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { type Owner, sandboxAnnotations, sandboxLabels } from '../../pod-identity/labels.ts';
import { type ConfigWarning, type DnsSettings, decidePodDns, podHostname } from './hostname.ts';
import { podAmounts, type ResourceSettings, sumResources } from './resources.ts';
import { namespaceOptions } from './security.ts';

export interface SandboxInput {
  readonly pod: Pod;
  /** Number of earlier sandboxes of this pod. */
  readonly attempt: number;
  readonly owner: Owner;
  /** Directory of the pod's logs; each container has a directory in it. */
  readonly logDirectory: string;
  /** Cgroup of the pod in the form of the runtime: a path (cgroupfs) or a slice name (systemd). */
  readonly cgroupParent: string;
  readonly dns: DnsSettings;
  readonly resources: ResourceSettings;
  /** Supplemental groups that the pod's persistent volumes require. */
  readonly extraSupplementalGroups?: readonly number[];
}

export type SandboxResult =
  | {
      readonly kind: 'ok';
      readonly config: MessageInput<PodSandboxConfig>;
      /** To be emitted as events of the pod. */
      readonly warnings: readonly ConfigWarning[];
    }
  | { readonly kind: 'error'; readonly reason: 'FailedCreatePodSandBox'; readonly message: string };

/** Returns the input of RunPodSandbox, or the reason why the sandbox cannot be created. */
export function createSandboxConfig(input: SandboxInput): SandboxResult {
  const { pod, owner } = input;
  const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
  const names = podHostname(pod, input.dns.clusterDomain);
  if (names.kind === 'error') {
    return { kind: 'error', reason: 'FailedCreatePodSandBox', message: names.message };
  }
  const dns = decidePodDns(pod, input.dns);
  const config: MessageInput<PodSandboxConfig> = {
    metadata: { name, namespace, uid, attempt: input.attempt },
    hostname: pod.spec?.hostNetwork === true ? '' : names.kernelHostname,
    logDirectory: input.logDirectory,
    dnsConfig: dns.config,
    portMappings: portMappings(pod),
    labels: sandboxLabels(owner, pod),
    annotations: sandboxAnnotations(owner, pod),
    linux: linuxConfig(input),
  };
  return { kind: 'ok', config, warnings: dns.warnings };
}

/** Only ports of containers that run for the lifetime of the pod become host ports. */
function portMappings(pod: Pod): readonly PortMapping[] {
  if (pod.spec?.hostNetwork === true) return [];
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...sidecars, ...(pod.spec?.containers ?? [])].flatMap(containerPortMappings);
}

function containerPortMappings({ ports = [] }: Container): readonly PortMapping[] {
  return ports
    .filter(({ hostPort = 0 }) => hostPort > 0)
    .map(({ protocol = 'TCP', containerPort, hostPort = 0, hostIP = '' }) => ({
      protocol,
      containerPort,
      hostPort,
      hostIp: hostIP,
    }));
}

function linuxConfig(input: SandboxInput): MessageInput<LinuxPodSandboxConfig> {
  const { pod, resources } = input;
  const requests = podAmounts(pod, 'requests');
  const limits = podAmounts(pod, 'limits');
  const overhead = pod.spec?.overhead;
  return {
    cgroupParent: input.cgroupParent,
    securityContext: securityContext(input),
    sysctls: Object.fromEntries(
      (pod.spec?.securityContext?.sysctls ?? []).map(({ name, value: setting }) => [
        dottedSysctl(name),
        setting,
      ]),
    ),
    resources: sumResources({ requests, limits }, resources),
    ...(overhead === undefined ? {} : { overhead: overheadResources(overhead, resources) }),
  };
}

function overheadResources(
  overhead: Readonly<Record<string, string>>,
  settings: ResourceSettings,
): ReturnType<typeof sumResources> {
  const millicores = exactMilliValue(overhead['cpu'] ?? '0');
  const amounts = { millicores, memoryBytes: exactValue(overhead['memory'] ?? '0') };
  return sumResources({ requests: amounts, limits: amounts }, settings);
}

/** Returns the dotted name of a sysctl: where a slash comes first, slashes are separators and dots belong to
 *  the names. @see sysctl.d(5) */
export function dottedSysctl(name: string): string {
  if (!/^[^./]*\//.test(name)) return name;
  return name.replaceAll(/[./]/g, (char) => (char === '/' ? '.' : '/'));
}

/** The sandbox container runs no code of the pod, so it always gets the runtime's default seccomp profile. */
function securityContext(input: SandboxInput): MessageInput<LinuxSandboxSecurityContext> {
  const { pod, extraSupplementalGroups = [] } = input;
  const own = pod.spec?.securityContext ?? {};
  const { runAsUser, runAsGroup, fsGroup, supplementalGroups = [], seLinuxOptions } = own;
  const groups = [
    ...(fsGroup === undefined ? [] : [fsGroup]),
    ...extraSupplementalGroups,
    ...supplementalGroups,
  ];
  return {
    namespaceOptions: namespaceOptions(pod),
    privileged: hasPrivilegedContainer(pod),
    seccomp: { profileType: 'RuntimeDefault' },
    seccompProfilePath: 'runtime/default',
    supplementalGroups: [...new Set(groups)].map(BigInt),
    ...(runAsUser === undefined ? {} : { runAsUser: { value: BigInt(runAsUser) } }),
    // CRI rejects a group without a user; containers get theirs with the user of the image.
    ...(runAsUser === undefined || runAsGroup === undefined
      ? {}
      : { runAsGroup: { value: BigInt(runAsGroup) } }),
    ...(seLinuxOptions === undefined ? {} : { selinuxOptions: seLinuxOptions }),
  };
}

function hasPrivilegedContainer(pod: Pod): boolean {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers].some(
    ({ securityContext: own }) => own?.privileged === true,
  );
}
