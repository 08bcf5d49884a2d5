/** Has a service of the administrator's judge the images of pods. Source: document 2, 2.3 and 2.7
 *  (ImagePolicyWebhook); upstream's plugin, release 1.24. */
import type { Logger } from '#api/kit/logger.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AskImages } from './image-policy/ask.ts';
import { type ImageVerdict, reviewSpecOf } from './image-policy/review.ts';
import { refusal } from './refusal.ts';

export interface ImagePolicyDeps {
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
  readonly ask: AskImages;
}

const PODS: ReadonlySet<string> = new Set(['/pods']);
const PARTS: ReadonlySet<string> = new Set(['', 'ephemeralcontainers']);
/** An answer that takes longer is none. */
const ASK_MS = 30_000;

/** `defaultAllow`: what nobody could judge is let in, and marked. */
export function createImagePolicy(
  { vocabulary, log, ask }: ImagePolicyDeps,
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
      const signal = AbortSignal.any([request.signal(), AbortSignal.timeout(ASK_MS)]);
      return await ask(reviewSpecOf(typed<Pod>(object), request, vocabulary), signal);
    } catch (thrown) {
      log.warn({ err: thrown, defaultAllow }, 'Images of a pod could not be judged');
      if (!defaultAllow)
        throw refusal(request, 'the images could not be judged: the image policy webhook cannot be asked');
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
