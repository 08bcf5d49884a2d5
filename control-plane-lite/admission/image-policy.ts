/** Image policy webhook: an external service reviews the images of pods. Source: ImagePolicyWebhook, document
 *  2 §2.3 and §2.7; upstream's plugin, release 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import { type ImageVerdict, reviewSpecOf } from './image-policy/review.ts';
import type { ReviewImages } from './image-policy/webhook-client.ts';
import { refusal } from './refusal.ts';

export interface ImagePolicyDeps {
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
  readonly review: ReviewImages;
}

const PODS: ReadonlySet<string> = new Set(['/pods']);
const PARTS: ReadonlySet<string> = new Set(['', 'ephemeralcontainers']);
/** Timeout of a response. */
const TIMEOUT_MS = 30_000;

/** `defaultAllow`: pods are admitted and annotated when the webhook is unavailable. */
export function createImagePolicy(
  { vocabulary, log, review }: ImagePolicyDeps,
  { defaultAllow }: { readonly defaultAllow: boolean },
): AdmissionPlugin {
  const failedOpen = `alpha.image-policy.${vocabulary.apiGroupDomain}/failed-open`;
  const auditPrefix = `imagepolicywebhook.image-policy.${vocabulary.apiGroupDomain}/`;

  function letIn(request: AdmissionRequest, object: ApiObject): void {
    request.annotate(`${auditPrefix}failed-open`, 'true');
    object.metadata.annotations = { ...object.metadata.annotations, [failedOpen]: 'true' };
  }

  async function judge(request: AdmissionRequest, object: ApiObject): Promise<ImageVerdict | undefined> {
    try {
      const signal = AbortSignal.any([request.signal(), AbortSignal.timeout(TIMEOUT_MS)]);
      return await review(reviewSpecOf(typed<Pod>(object), request, vocabulary), signal);
    } catch (thrown) {
      log.warn({ err: thrown, defaultAllow }, 'Failed to review images of pod');
      if (!defaultAllow)
        throw refusal(request, 'failed to review the images: the image policy webhook is unavailable');
      letIn(request, object);
      return undefined;
    }
  }

  return {
    name: 'ImagePolicyWebhook',
    operations: ['CREATE', 'UPDATE'],
    resources: PODS,
    async validate(request) {
      const { object, subresource } = request;
      if (object === undefined || !PARTS.has(subresource)) return;
      const verdict = await judge(request, object);
      if (verdict === undefined) return;
      for (const [name, value] of Object.entries(verdict.auditAnnotations))
        request.annotate(`${auditPrefix}${name}`, value);
      if (verdict.allowed) return;
      throw refusal(
        request,
        verdict.reason === ''
          ? 'one or more images rejected by webhook backend'
          : `image policy webhook backend denied one or more images: ${verdict.reason}`,
      );
    },
  };
}
