/** Decides whether to pull an image, from the policy and the images of the runtime. Pure. */

export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never';

/** Waiting reasons of a container without its image. */
export type ImageWaitingReason =
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'ErrImageNeverPull'
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed';

export type PullDecision =
  | { readonly kind: 'use' }
  | { readonly kind: 'pull' }
  | { readonly kind: 'refuse'; readonly reason: ImageWaitingReason; readonly message: string };

export function decidePull(policy: PullPolicy, image: string, isPresent: boolean): PullDecision {
  switch (policy) {
    case 'Always':
      return { kind: 'pull' };
    case 'IfNotPresent':
      return { kind: isPresent ? 'use' : 'pull' };
    case 'Never':
      if (isPresent) return { kind: 'use' };
      return {
        kind: 'refuse',
        reason: 'ErrImageNeverPull',
        message: `Container image "${image}" is not present with pull policy of Never`,
      };
    default:
      return policy satisfies never;
  }
}

/** Returns reason and message of a failed pull, classified by the error message of the runtime. */
export function classifyPullFailure(
  image: string,
  failure: string,
): { readonly reason: ImageWaitingReason; readonly message: string } {
  if (failure.includes('RegistryUnavailable')) {
    return {
      reason: 'RegistryUnavailable',
      message: `image pull failed for ${image} because the registry is unavailable: ${failure}`,
    };
  }
  if (failure.includes('SignatureValidationFailed')) {
    return {
      reason: 'SignatureValidationFailed',
      message: `image pull failed for ${image} because the signature validation failed: ${failure}`,
    };
  }
  return { reason: 'ErrImagePull', message: failure };
}
