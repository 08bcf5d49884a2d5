/** SubjectAccessReviews sent to an authorization webhook, and its responses. Pure. Source: upstream's webhook
 *  authorizer, release 1.24. */
import { parseJsonText } from '#api/codec/json-text.ts';
import type { SubjectAccessReviewSpec } from '#api/gen/authorization-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { AuthorizationAttributes, Decision } from './contract.ts';

export type ReviewVersion = 'v1' | 'v1beta1';

/** The response is invalid. */
export class AccessReviewError extends Error {
  override readonly name = 'AccessReviewError';
}

const KIND = 'SubjectAccessReview';

const apiVersionOf = ({ apiGroupDomain }: Vocabulary, version: ReviewVersion): string =>
  `authorization.${apiGroupDomain}/${version}`;

type Texts = Readonly<Record<string, string>>;

/** Without empty members. */
const filled = (members: Texts): Texts =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ''));

export function reviewSpecOf(asked: AuthorizationAttributes): SubjectAccessReviewSpec {
  const { name: user, groups, extra, uid = '' } = asked.user;
  const { verb, path, namespace, group, version, resource, subresource, name } = asked;
  return {
    ...(asked.isResource
      ? {
          resourceAttributes: filled({
            namespace,
            verb,
            group,
            version,
            resource,
            subresource,
            name,
          }),
        }
      : { nonResourceAttributes: filled({ path, verb }) }),
    ...(user === '' ? {} : { user }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    ...(uid === '' ? {} : { uid }),
  };
}

/** Version 1beta1 names the groups `group`. */
function specIn(version: ReviewVersion, spec: SubjectAccessReviewSpec): object {
  if (version === 'v1' || spec.groups === undefined) return spec;
  const { groups, ...rest } = spec;
  return { ...rest, group: groups };
}

export const reviewText = (
  spec: SubjectAccessReviewSpec,
  version: ReviewVersion,
  vocabulary: Vocabulary,
): string =>
  JSON.stringify({
    apiVersion: apiVersionOf(vocabulary, version),
    kind: KIND,
    metadata: { creationTimestamp: null },
    spec: specIn(version, spec),
    status: { allowed: false },
  });

function parse(text: string): Readonly<Record<string, unknown>> {
  let review: unknown;
  try {
    review = parseJsonText(text);
  } catch (cause) {
    throw new AccessReviewError('the response is not JSON', { cause });
  }
  if (!isMutableObject(review)) throw new AccessReviewError('the response must be an object');
  return review;
}

/** Parses the response to a review of this version; a response may leave out its apiVersion and kind.
 *  @throws AccessReviewError */
export function readDecision(text: string, version: ReviewVersion, vocabulary: Vocabulary): Decision {
  const wanted = apiVersionOf(vocabulary, version);
  const { apiVersion = wanted, kind = KIND, status = {} } = parse(text);
  if (apiVersion !== wanted || kind !== KIND)
    throw new AccessReviewError(`the response must be ${KIND} of ${wanted}`);
  if (!isMutableObject(status)) throw new AccessReviewError('status of the response must be an object');
  const { allowed = false, denied = false, reason = '' } = status;
  if (typeof allowed !== 'boolean' || typeof denied !== 'boolean')
    throw new AccessReviewError('status.allowed and status.denied of the response must be true or false');
  if (typeof reason !== 'string')
    throw new AccessReviewError('status.reason of the response must be a string');
  if (denied && allowed) {
    const error = 'webhook subject access review returned both allow and deny response';
    return { effect: 'deny', reason, error };
  }
  if (denied) return { effect: 'deny', reason };
  return { effect: allowed ? 'allow' : 'none', reason };
}
