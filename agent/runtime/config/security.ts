/** Security context of a container: the settings of the pod, overridden by those of the container; its seccomp
 *  profile and namespaces. Pure. A localhost seccomp profile without a path is rejected, since some runtimes would
 *  treat it as "unconfined".
 *  Source: upstream's pod security context; CRI v1 LinuxContainerSecurityContext. */

import { posix } from 'node:path';
import type { Pod, SeccompProfile, SecurityContext } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { LinuxContainerSecurityContext, NamespaceMode, SecurityProfile } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';

/** User of the image; no member means root. */
export interface ImageUser {
  readonly uid?: number;
  /** Set where the image specifies its user by name. */
  readonly username?: string;
}

export interface SecuritySettings extends SeccompSettings {
  readonly vocabulary: SeccompSettings['vocabulary'] & Pick<Vocabulary, 'appArmorContainerPrefix'>;
  /** Feature gate ProcMountType, which `Unmasked` requires. */
  readonly procMountType: boolean;
  /** Feature gate AppArmor, which profiles require. */
  readonly appArmor: boolean;
}

export interface SecurityInput {
  readonly pod: Pod;
  readonly container: { readonly name: string; readonly securityContext?: SecurityContext };
  readonly imageUser: ImageUser;
  readonly settings: SecuritySettings;
  /** Container whose process namespace an ephemeral container joins. */
  readonly targetContainerId?: string;
  readonly extraSupplementalGroups?: readonly number[];
}

export type SecurityResult =
  | { readonly kind: 'ok'; readonly context: MessageInput<LinuxContainerSecurityContext> }
  | { readonly kind: 'error'; readonly message: string };

/** Masked and read-only paths of /proc and /sys. Source: defaults of the runtime specification. */
const MASKED_PATHS: readonly string[] = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const READONLY_PATHS: readonly string[] = [
  '/proc/asound',
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/sys',
  '/proc/sysrq-trigger',
];

const RUNTIME_DEFAULT: SeccompDecision = {
  kind: 'ok',
  profile: { profileType: 'RuntimeDefault', localhostRef: '' },
};
const UNCONFINED: SeccompDecision = { kind: 'ok', profile: { profileType: 'Unconfined', localhostRef: '' } };

/** Returns why the container may not run as its user; `undefined` when it may.
 *  Checked before every start, since the image behind a tag may have changed. */
export function nonRootError(
  pod: Pod,
  container: SecurityInput['container'],
  imageUser: ImageUser,
): string | undefined {
  const own = container.securityContext ?? {};
  const pods = pod.spec?.securityContext ?? {};
  if ((own.runAsNonRoot ?? pods.runAsNonRoot) !== true) return undefined;
  const runAsUser = own.runAsUser ?? pods.runAsUser;
  const where = `container ${container.name} of pod ${pod.metadata?.namespace ?? ''}/${pod.metadata?.name ?? ''}`;
  if (runAsUser === 0) return `runAsNonRoot is set but runAsUser is 0 (${where})`;
  if (runAsUser !== undefined) return undefined;
  const { uid, username = '' } = imageUser;
  if (uid === undefined && username !== '') {
    return `runAsNonRoot is set but the image has the non-numeric user ${JSON.stringify(username)}, which can't be verified to be non-root: set runAsUser (${where})`;
  }
  if (uid === undefined || uid === 0) return `runAsNonRoot is set but the image will run as root (${where})`;
  return undefined;
}

/** Returns the CRI security context, or the error. */
export function containerSecurity(input: SecurityInput): SecurityResult {
  const { pod, container, settings } = input;
  const error = nonRootError(pod, container, input.imageUser);
  if (error !== undefined) return { kind: 'error', message: error };
  const seccomp = decideSeccomp(pod, container, settings);
  if (seccomp.kind === 'error') return seccomp;
  const confinement = appArmorError(input);
  if (confinement !== undefined) return { kind: 'error', message: confinement };
  const own = container.securityContext ?? {};
  const pods = pod.spec?.securityContext ?? {};
  const runAsGroup = own.runAsGroup ?? pods.runAsGroup;
  const seLinuxOptions = own.seLinuxOptions ?? pods.seLinuxOptions;
  const unmasked = own.procMount === 'Unmasked' && settings.procMountType;
  const context: MessageInput<LinuxContainerSecurityContext> = {
    privileged: own.privileged === true,
    readonlyRootfs: own.readOnlyRootFilesystem === true,
    noNewPrivs: own.allowPrivilegeEscalation === false,
    namespaceOptions: namespaceOptions(pod, input.targetContainerId),
    supplementalGroups: supplementalGroups(input),
    seccomp: seccomp.profile,
    seccompProfilePath: seccompPath(seccomp.profile),
    maskedPaths: unmasked ? [] : MASKED_PATHS,
    readonlyPaths: unmasked ? [] : READONLY_PATHS,
    ...userOf(input),
    ...appArmor(input),
    ...capabilities(own),
    ...(runAsGroup === undefined ? {} : { runAsGroup: { value: BigInt(runAsGroup) } }),
    ...(seLinuxOptions === undefined ? {} : { selinuxOptions: seLinuxOptions }),
  };
  return { kind: 'ok', context };
}

type ContextPart = MessageInput<LinuxContainerSecurityContext>;

/** The user of the image is set explicitly, because runtimes reject a group without a user. */
function userOf({ pod, container, imageUser }: SecurityInput): ContextPart {
  const wanted = container.securityContext?.runAsUser ?? pod.spec?.securityContext?.runAsUser;
  const { username = '' } = imageUser;
  if (wanted === undefined && imageUser.uid === undefined && username !== '')
    return { runAsUsername: username };
  return { runAsUser: { value: BigInt(wanted ?? imageUser.uid ?? 0) } };
}

function supplementalGroups({ pod, extraSupplementalGroups = [] }: SecurityInput): readonly bigint[] {
  const { fsGroup, supplementalGroups: groups = [] } = pod.spec?.securityContext ?? {};
  const all = [...(fsGroup === undefined ? [] : [fsGroup]), ...groups, ...extraSupplementalGroups];
  return [...new Set(all)].map(BigInt);
}

function capabilities({ capabilities: wanted }: SecurityContext): ContextPart {
  if (wanted === undefined) return {};
  return { capabilities: { addCapabilities: wanted.add ?? [], dropCapabilities: wanted.drop ?? [] } };
}

const profileOf = ({ pod, container, settings }: SecurityInput): string =>
  pod.metadata?.annotations?.[`${settings.vocabulary.appArmorContainerPrefix}${container.name}`] ?? '';

/** A container that is to be confined never runs without its profile. */
function appArmorError(input: SecurityInput): string | undefined {
  const profile = profileOf(input);
  if (input.settings.appArmor || profile === '' || profile === 'unconfined') return undefined;
  return `cannot enforce AppArmor profile ${profile}: AppArmor is disabled by the feature gate AppArmor`;
}

/** In both forms: runtimes before CRI v1 read the text, newer ones the profile. */
function appArmor(input: SecurityInput): ContextPart {
  const apparmorProfile = profileOf(input);
  if (apparmorProfile === '' || !input.settings.appArmor) return {};
  const apparmor = appArmorProfile(apparmorProfile);
  return { apparmorProfile, ...(apparmor === undefined ? {} : { apparmor }) };
}

function appArmorProfile(text: string): SecurityProfile | undefined {
  if (text === 'runtime/default') return { profileType: 'RuntimeDefault', localhostRef: '' };
  if (text === 'unconfined') return { profileType: 'Unconfined', localhostRef: '' };
  if (!text.startsWith('localhost/')) return undefined;
  return { profileType: 'Localhost', localhostRef: text.slice('localhost/'.length) };
}

interface NamespaceOptionInput {
  readonly network: NamespaceMode;
  readonly ipc: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly targetId: string;
}

/** Returns the Linux namespaces that sandbox and containers of a pod share with each other and with the node.
 *  @param targetId container whose process namespace an ephemeral container joins, if any */
export function namespaceOptions(pod: Pod, targetId = ''): NamespaceOptionInput {
  const { hostNetwork, hostIPC, hostPID, shareProcessNamespace } = pod.spec ?? {};
  const podPid: NamespaceMode = shareProcessNamespace === true ? 'POD' : 'CONTAINER';
  const ownPid: NamespaceMode = hostPID === true ? 'NODE' : podPid;
  return {
    network: hostNetwork === true ? 'NODE' : 'POD',
    ipc: hostIPC === true ? 'NODE' : 'POD',
    pid: targetId === '' ? ownPid : 'TARGET',
    targetId,
  };
}

interface SeccompSettings {
  /** Directory of localhost profiles, absolute. */
  readonly seccompProfileRoot: string;
  /** Whether containers without a profile get the runtime's default in place of none. */
  readonly seccompDefault: boolean;
  readonly vocabulary: Pick<Vocabulary, 'seccompPod' | 'seccompContainerPrefix'>;
}

export type SeccompDecision =
  | { readonly kind: 'ok'; readonly profile: SecurityProfile }
  | { readonly kind: 'error'; readonly message: string };

/** Order: field of the container, field of the pod, deprecated annotation of the container, annotation of the
 *  pod, default of the node. The API server copies annotations into fields before admission; annotations that
 *  contradict the fields have not passed admission. */
export function decideSeccomp(
  pod: Pod,
  container: { readonly name: string; readonly securityContext?: SecurityContext },
  settings: SeccompSettings,
): SeccompDecision {
  const { seccompContainerPrefix, seccompPod } = settings.vocabulary;
  const annotations = pod.metadata?.annotations ?? {};
  const own = container.securityContext?.seccompProfile;
  if (own !== undefined) return fromField(own, settings);
  const pods = pod.spec?.securityContext?.seccompProfile;
  if (pods !== undefined) return fromField(pods, settings);
  const ownAnnotation = annotations[`${seccompContainerPrefix}${container.name}`];
  if (ownAnnotation !== undefined) return fromAnnotation(ownAnnotation, settings);
  const podAnnotation = annotations[seccompPod];
  if (podAnnotation !== undefined) return fromAnnotation(podAnnotation, settings);
  return settings.seccompDefault ? RUNTIME_DEFAULT : UNCONFINED;
}

/** Returns it as a profile path, the form that runtimes before CRI v1 read. */
function seccompPath({ profileType, localhostRef }: SecurityProfile): string {
  switch (profileType) {
    case 'RuntimeDefault':
      return 'runtime/default';
    case 'Unconfined':
      return 'unconfined';
    case 'Localhost':
      return `localhost/${localhostRef}`;
    default:
      return profileType satisfies never;
  }
}

function fromField(profile: SeccompProfile, settings: SeccompSettings): SeccompDecision {
  switch (profile.type) {
    case 'RuntimeDefault':
      return RUNTIME_DEFAULT;
    case 'Unconfined':
      return UNCONFINED;
    case 'Localhost':
      return localhost(profile.localhostProfile ?? '', settings);
    default:
      return { kind: 'error', message: `seccompProfile.type ${JSON.stringify(profile.type)} is unknown` };
  }
}

function fromAnnotation(text: string, settings: SeccompSettings): SeccompDecision {
  if (text === 'runtime/default' || text === 'docker/default') return RUNTIME_DEFAULT;
  if (text === '' || text === 'unconfined') return UNCONFINED;
  if (text.startsWith('localhost/')) return localhost(text.slice('localhost/'.length), settings);
  return { kind: 'error', message: `seccomp annotation ${JSON.stringify(text)} lacks a profile` };
}

function localhost(path: string, { seccompProfileRoot }: SeccompSettings): SeccompDecision {
  if (path === '') return { kind: 'error', message: 'localhostProfile must be set when type is Localhost' };
  if (posix.isAbsolute(path) || path.split('/').includes('..')) {
    return {
      kind: 'error',
      message: `localhostProfile ${JSON.stringify(path)} must stay inside its directory`,
    };
  }
  const localhostRef = posix.join(seccompProfileRoot, path);
  return { kind: 'ok', profile: { profileType: 'Localhost', localhostRef } };
}
