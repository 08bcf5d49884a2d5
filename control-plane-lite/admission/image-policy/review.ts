/** ImageReview request and response of the image policy webhook. Pure. Source: ImageReview, document 2
 *  §2.3. */

import { parseJsonText } from '#api/codec/json-text.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import type { ImageReviewSpec } from '#api/gen/imagepolicy-v1alpha1.ts';
import { isMutableObject, textOf } from '#api/kit/object.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

/** The response is invalid. */
export class ImageReviewError extends Error {
  override readonly name = 'ImageReviewError';
}

export interface ImageVerdict {
  readonly allowed: boolean;
  readonly reason: string;
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

const KIND = 'ImageReview';
const apiVersionOf = ({ apiGroupDomain }: Vocabulary): string => `imagepolicy.${apiGroupDomain}/v1alpha1`;

/** Containers to review after a change of a pod, or of its ephemeral containers alone. */
export function reviewSpecOf(
  { metadata, spec }: Pod,
  { namespace, subresource }: { readonly namespace: string; readonly subresource: string },
  { apiGroupDomain }: Vocabulary,
): ImageReviewSpec {
  const containers =
    subresource === 'ephemeralcontainers'
      ? (spec?.ephemeralContainers ?? [])
      : [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const annotations = Object.entries(metadata?.annotations ?? {}).filter(([name]) =>
    name.includes(`.image-policy.${apiGroupDomain}/`),
  );
  return {
    containers: containers.map(({ image }) => (image === undefined ? {} : { image })),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
    namespace,
  };
}

export const reviewText = (spec: ImageReviewSpec, vocabulary: Vocabulary): string =>
  JSON.stringify({ apiVersion: apiVersionOf(vocabulary), kind: KIND, metadata: {}, spec, status: {} });

/** @throws ImageReviewError */
export function readVerdict(text: string, vocabulary: Vocabulary): ImageVerdict {
  let review: unknown;
  try {
    review = parseJsonText(text);
  } catch (cause) {
    throw new ImageReviewError('the response is not JSON', { cause });
  }
  const wanted = apiVersionOf(vocabulary);
  if (!isMutableObject(review) || review['kind'] !== KIND || review['apiVersion'] !== wanted)
    throw new ImageReviewError(`the response must be ${KIND} of ${wanted}`);
  const { status } = review;
  const { allowed, reason, auditAnnotations } = isMutableObject(status) ? status : {};
  if (allowed !== undefined && typeof allowed !== 'boolean')
    throw new ImageReviewError('status.allowed of the response must be true or false');
  return {
    allowed: allowed === true,
    reason: textOf(reason),
    auditAnnotations: isMutableObject(auditAnnotations)
      ? Object.fromEntries(Object.entries(auditAnnotations).map(([name, value]) => [name, textOf(value)]))
      : {},
  };
}
