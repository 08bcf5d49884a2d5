/** Seccomp profile of a container. Pure.
 *  A localhost profile without a path is rejected, since some runtimes would treat it as "unconfined". */
import { posix } from 'node:path';
import type { Pod, SeccompProfile, SecurityContext } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { SecurityProfile } from '#cri/gen/cri-v1.ts';

export interface SeccompSettings {
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
