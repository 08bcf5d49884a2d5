/** Which seccomp profile a container runs under. Pure.
 *  A localhost profile without a path would silently mean "unconfined" to some runtimes, so it is refused. */
import { posix } from 'node:path';
import type { Pod, SeccompProfile, SecurityContext } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { SecurityProfile } from '#cri/gen/cri-v1.ts';

export interface SeccompSettings {
  /** Directory of localhost profiles, absolute. */
  readonly seccompProfileRoot: string;
  /** Whether a container that says nothing gets the runtime's default instead of none. */
  readonly seccompDefault: boolean;
  readonly vocabulary: Pick<Vocabulary, 'seccompPod' | 'seccompContainerPrefix'>;
}

export type SeccompDecision =
  | { readonly kind: 'ok'; readonly profile: SecurityProfile }
  | { readonly kind: 'error'; readonly message: string };

/** In order: the container's field, the pod's field, the container's deprecated annotation, the pod's annotation, the
 *  node's default. An API server puts what annotations say into the fields before admission judges them; what an
 *  annotation says beside fields was judged by nobody. */
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

/** The same as a profile path, the form that runtimes before CRI v1 read. */
export function seccompPath({ profileType, localhostRef }: SecurityProfile): string {
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

const RUNTIME_DEFAULT: SeccompDecision = {
  kind: 'ok',
  profile: { profileType: 'RuntimeDefault', localhostRef: '' },
};
const UNCONFINED: SeccompDecision = { kind: 'ok', profile: { profileType: 'Unconfined', localhostRef: '' } };

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
  return { kind: 'error', message: `seccomp annotation ${JSON.stringify(text)} names no profile` };
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
