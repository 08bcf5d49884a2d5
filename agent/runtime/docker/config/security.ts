/** Security options of containers in docker's form. Pure; the seccomp profile is read by the caller. */
import type {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  SELinuxOption,
  SecurityProfile,
} from '#cri/gen/cri-v1.ts';
import { CallRejection } from '#cri/server/rejection.ts';

/** Features of the daemon on which the form of the options depends. */
export interface SecuritySupport {
  readonly seccomp: boolean;
  readonly apparmor: boolean;
}

export interface SecurityOptions {
  readonly options: readonly string[];
  /** File whose content becomes the seccomp option. */
  readonly seccompFile: string | undefined;
}

type Context = Pick<
  LinuxContainerSecurityContext,
  'privileged' | 'selinuxOptions' | 'seccomp' | 'apparmor' | 'seccompProfilePath'
> &
  Partial<Pick<LinuxContainerSecurityContext, 'noNewPrivs' | 'apparmorProfile'>>;

const LOCALHOST = 'localhost/';

/** Reads the profile of older clients, which is a text. */
function legacyProfile(text: string): SecurityProfile | undefined {
  if (text === '') return undefined;
  if (text === 'unconfined') return { profileType: 'Unconfined', localhostRef: '' };
  if (text === 'runtime/default' || text === 'docker/default') {
    return { profileType: 'RuntimeDefault', localhostRef: '' };
  }
  if (!text.startsWith(LOCALHOST)) {
    throw new CallRejection('InvalidArgument', `unknown security profile ${JSON.stringify(text)}`);
  }
  return { profileType: 'Localhost', localhostRef: text.slice(LOCALHOST.length) };
}

function selinux(options: SELinuxOption | undefined): readonly string[] {
  if (options === undefined) return [];
  return (['user', 'role', 'type', 'level'] as const)
    .filter((part) => options[part] !== '')
    .map((part) => `label=${part}:${options[part]}`);
}

function apparmor(profile: SecurityProfile | undefined, supported: boolean): readonly string[] {
  const type = profile?.profileType;
  switch (type) {
    case 'Unconfined':
      return supported ? ['apparmor=unconfined'] : [];
    case 'Localhost':
      if (!supported) {
        throw new CallRejection(
          'InvalidArgument',
          'linux.security_context.apparmor: docker has no AppArmor here',
        );
      }
      return [`apparmor=${profile?.localhostRef ?? ''}`];
    case 'RuntimeDefault':
    case undefined:
      return [];
    default:
      return type satisfies never;
  }
}

/** @throws CallRejection for a profile that docker cannot apply */
export function securityOptions(context: Context | undefined, support: SecuritySupport): SecurityOptions {
  if (context === undefined) return { options: ['seccomp=unconfined'], seccompFile: undefined };
  const seccomp = context.seccomp ?? legacyProfile(context.seccompProfilePath);
  const armor = context.apparmor ?? legacyProfile(context.apparmorProfile ?? '');
  const options = [
    ...selinux(context.selinuxOptions),
    ...(context.privileged ? [] : apparmor(armor, support.apparmor)),
    ...(context.noNewPrivs === true ? ['no-new-privileges'] : []),
  ];
  const confines = seccomp !== undefined && seccomp.profileType !== 'Unconfined';
  if (!support.seccomp && seccomp?.profileType === 'Localhost') {
    throw new CallRejection('InvalidArgument', 'linux.security_context.seccomp: docker has no seccomp here');
  }
  if (!support.seccomp || context.privileged) return { options, seccompFile: undefined };
  // Without a profile a container is unconfined, as in other runtimes; docker's default would confine it.
  if (!confines) return { options: [...options, 'seccomp=unconfined'], seccompFile: undefined };
  return { options, seccompFile: seccomp.profileType === 'Localhost' ? seccomp.localhostRef : undefined };
}

/** Returns docker's `User`; empty for that of the image. @throws CallRejection for a group without a user */
export function userOf(
  context:
    | Pick<LinuxContainerSecurityContext, 'runAsUser' | 'runAsGroup' | 'runAsUsername'>
    | Pick<LinuxSandboxSecurityContext, 'runAsUser' | 'runAsGroup'>
    | undefined,
): string {
  if (context === undefined) return '';
  const name = 'runAsUsername' in context ? context.runAsUsername : '';
  const user = context.runAsUser === undefined ? name : String(context.runAsUser.value);
  if (context.runAsGroup === undefined) return user;
  if (user === '') {
    throw new CallRejection('InvalidArgument', 'linux.security_context.run_as_group: needs run_as_user');
  }
  return `${user}:${context.runAsGroup.value}`;
}
