/** Checks of the level `baseline`. Pure. Source: upstream's pod security standards, release 1.24. */
import type { Container, EphemeralContainer, Pod, SELinuxOptions } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

export type PodSpec = NonNullable<Pod['spec']>;
export type AnyContainer = Container | EphemeralContainer;

export interface Look {
  readonly spec: PodSpec;
  readonly annotations: Readonly<Record<string, string>>;
  readonly containers: readonly AnyContainer[];
  readonly vocabulary: Vocabulary;
  /** Minor version of the release whose standards apply. */
  readonly minor: number;
}

/** Reason of the rejection: the violation in short, and its place. */
export interface Violation {
  readonly what: string;
  readonly where: string;
}

export type Check = (look: Look) => Violation | undefined;

const CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
const SYSCTLS: ReadonlySet<string> = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
]);
const SELINUX_TYPES: ReadonlySet<string> = new Set([
  '',
  'container_t',
  'container_init_t',
  'container_kvm_t',
]);
const WINDOWS = 'windowsOptions';

const quoted = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(', ');
const plural = (names: readonly unknown[], one: string): string => (names.length === 1 ? one : `${one}s`);

/** Reports the containers that violate a rule. `before`: the pod or containers that satisfy it otherwise. */
export function inContainers(
  { containers }: Look,
  isBad: (container: AnyContainer) => boolean,
  what: string,
  must: string,
  before = '',
): Violation | undefined {
  const names = containers.filter(isBad).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return { what, where: `${before}${plural(names, 'container')} ${quoted(names)} must ${must}` };
}

const hostNamespaces: Check = ({ spec }) => {
  const used = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => spec[name] === true);
  return used.length === 0
    ? undefined
    : { what: 'host namespaces', where: used.map((name) => `${name}=true`).join(', ') };
};

const privileged: Check = (look) =>
  inContainers(
    look,
    ({ securityContext }) => securityContext?.privileged === true,
    'privileged',
    'not set securityContext.privileged=true',
  );

const capabilities: Check = (look) =>
  inContainers(
    look,
    ({ securityContext }) =>
      (securityContext?.capabilities?.add ?? []).some((name) => !CAPABILITIES.has(name)),
    'non-default capabilities',
    'not add capabilities beyond the default ones in securityContext.capabilities.add',
  );

const hostPath: Check = ({ spec }) => {
  const names = (spec.volumes ?? [])
    .filter((volume) => volume.hostPath !== undefined)
    .map(({ name }) => name);
  return names.length === 0
    ? undefined
    : { what: 'hostPath volumes', where: `${plural(names, 'volume')} ${quoted(names)}` };
};

const hostPorts: Check = (look) =>
  inContainers(
    look,
    ({ ports = [] }) => ports.some(({ hostPort = 0 }) => hostPort !== 0),
    'hostPort',
    'not use hostPorts',
  );

/** Checks AppArmor profiles, which are specified in annotations. */
const appArmor: Check = ({ annotations, vocabulary }) => {
  const bad = Object.entries(annotations).filter(
    ([key, value]) =>
      key.startsWith(vocabulary.appArmorContainerPrefix) &&
      value !== '' &&
      value !== 'runtime/default' &&
      !value.startsWith('localhost/'),
  );
  return bad.length === 0
    ? undefined
    : {
        what: bad.length === 1 ? 'forbidden AppArmor profile' : 'forbidden AppArmor profiles',
        where: bad.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(', '),
      };
};

const badSELinux = (options: SELinuxOptions | undefined): boolean =>
  options !== undefined &&
  (!SELINUX_TYPES.has(options.type ?? '') || (options.user ?? '') !== '' || (options.role ?? '') !== '');

const seLinux: Check = (look) => {
  if (badSELinux(look.spec.securityContext?.seLinuxOptions))
    return { what: 'seLinuxOptions', where: 'pod set forbidden securityContext.seLinuxOptions' };
  return inContainers(
    look,
    ({ securityContext }) => badSELinux(securityContext?.seLinuxOptions),
    'seLinuxOptions',
    'not set forbidden securityContext.seLinuxOptions',
  );
};

const procMount: Check = (look) =>
  inContainers(
    look,
    ({ securityContext }) => (securityContext?.procMount ?? 'Default') !== 'Default',
    'procMount',
    'set securityContext.procMount to Default',
  );

const seccomp: Check = (look) => {
  if (look.spec.securityContext?.seccompProfile?.type === 'Unconfined')
    return {
      what: 'seccompProfile',
      where: 'pod must not set securityContext.seccompProfile.type to "Unconfined"',
    };
  return inContainers(
    look,
    ({ securityContext }) => securityContext?.seccompProfile?.type === 'Unconfined',
    'seccompProfile',
    'not set securityContext.seccompProfile.type to "Unconfined"',
  );
};

const sysctls: Check = ({ spec }) => {
  const names = (spec.securityContext?.sysctls ?? [])
    .map(({ name }) => name)
    .filter((name) => !SYSCTLS.has(name));
  return names.length === 0 ? undefined : { what: 'forbidden sysctls', where: names.join(', ') };
};

const windowsHostProcess: Check = (look) => {
  if (look.spec.securityContext?.[WINDOWS]?.hostProcess === true)
    return { what: 'hostProcess', where: 'pod must not set securityContext.windowsOptions.hostProcess=true' };
  return inContainers(
    look,
    ({ securityContext }) => securityContext?.[WINDOWS]?.hostProcess === true,
    'hostProcess',
    'not set securityContext.windowsOptions.hostProcess=true',
  );
};

export const BASELINE: readonly Check[] = [
  hostNamespaces,
  privileged,
  capabilities,
  hostPath,
  hostPorts,
  appArmor,
  seLinux,
  procMount,
  seccomp,
  sysctls,
  windowsHostProcess,
];
