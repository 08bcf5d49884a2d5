/** Whether an image is pulled: decided from the policy and from what the runtime has. Pure. */

export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never';

/** Reasons with which a container waits for its image. */
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

/** The policy that holds where none is written: `Always` for `:latest` and untagged images without a digest. */
export function defaultPullPolicy(tag: string | undefined, digest: string | undefined): PullPolicy {
  const isLatest = digest === undefined && (tag === undefined || tag === 'latest');
  return isLatest ? 'Always' : 'IfNotPresent';
}

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

/** Reason and message of a pull that the runtime refused, told apart by the runtime's own words. */
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
