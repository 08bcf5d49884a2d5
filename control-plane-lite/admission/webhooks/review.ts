/** AdmissionReview request and response. Pure. Source: AdmissionReview, document 2 §2.2. */

import { readJsonSlices } from '#api/codec/json-slices.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { isMutableObject, textOf } from '#api/kit/object.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { isLarge, type Turn } from '../../kit/yield.ts';
import type { ApiObject, ResourceInfo } from '../../resources/contract.ts';
import type { AdmissionRequest } from '../contract.ts';
import type { SeenRequest } from './seen.ts';

/** The review is malformed, or does not match the request. */
export class AdmissionReviewError extends Error {
  override readonly name = 'AdmissionReviewError';
}

export interface ReviewResponse {
  readonly allowed: boolean;
  /** Message of a rejection for the user. */
  readonly code: number | undefined;
  readonly message: string;
  readonly reason: string;
  /** Operations of a JSON patch. */
  readonly patch: unknown;
  /** The patch has `LARGE_BYTES` or more. */
  readonly isLarge: boolean;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

const KIND = 'AdmissionReview';
export const REVIEW_VERSIONS: readonly string[] = ['v1', 'v1beta1'];
const OPTIONS = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

const apiVersionOf = (version: string, { apiGroupDomain }: Vocabulary): string =>
  `admission.${apiGroupDomain}/${version}`;

function optionsOf({ operation, dryRun }: AdmissionRequest, { apiGroupDomain }: Vocabulary): unknown {
  if (operation === 'CONNECT') return null;
  const meta = { kind: OPTIONS[operation], apiVersion: `meta.${apiGroupDomain}/v1` };
  return dryRun ? { ...meta, dryRun: ['All'] } : meta;
}

/** Kind of the object. A subresource can have a kind of its own. */
function kindOf(info: ResourceInfo, subresource: string): object {
  const { group, version, kind } = info;
  const part = info.subresources.get(subresource);
  return { group: part?.group ?? group, version: part?.version ?? version, kind: part?.kind ?? kind };
}

/** The object as it is sent; the options of a connection have no metadata. */
function shownObject(operation: AdmissionRequest['operation'], object: ApiObject | undefined): unknown {
  if (object === undefined || operation === 'DELETE') return null;
  if (operation !== 'CONNECT') return object;
  const { metadata: _, ...options } = object;
  return options;
}
const resourceOf = ({ group, version, plural }: ResourceInfo): object => ({
  group,
  version,
  resource: plural,
});

/** `seen`: request data in the webhook's version. */
export function reviewBody(
  request: AdmissionRequest,
  { resource: seen, object, old }: SeenRequest,
  { uid, version }: { readonly uid: string; readonly version: string },
  vocabulary: Vocabulary,
): object {
  const { resource, subresource, user, operation, namespace, name, dryRun } = request;
  const { info } = resource;
  const part = subresource === '' ? {} : { subResource: subresource };
  const requestPart = subresource === '' ? {} : { requestSubResource: subresource };
  const shown = name === '' ? (object?.metadata.name ?? '') : name;
  return {
    apiVersion: apiVersionOf(version, vocabulary),
    kind: KIND,
    request: {
      uid,
      kind: kindOf(seen.info, subresource),
      resource: resourceOf(seen.info),
      ...part,
      requestKind: kindOf(info, subresource),
      requestResource: resourceOf(info),
      ...requestPart,
      ...(shown === '' ? {} : { name: shown }),
      ...(namespace === '' ? {} : { namespace }),
      operation,
      userInfo: {
        username: user.name,
        ...(user.uid === undefined ? {} : { uid: user.uid }),
        groups: user.groups,
        ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
      },
      object: shownObject(operation, object),
      oldObject: operation === 'CREATE' || operation === 'CONNECT' ? null : (old ?? null),
      dryRun,
      options: optionsOf(request, vocabulary),
    },
  };
}

/** The call has its own limit. */
const ANY_LENGTH = { maxBytes: Number.POSITIVE_INFINITY };

interface ReadPatch {
  readonly patch: unknown;
  readonly isLarge: boolean;
}

async function readPatch(
  { patch, patchType }: Readonly<Record<string, unknown>>,
  turn: Turn,
): Promise<ReadPatch> {
  if (patch === undefined || patch === null || patch === '') return { patch: undefined, isLarge: false };
  if (patchType !== 'JSONPatch')
    throw new AdmissionReviewError(`the patch is of type ${JSON.stringify(patchType)}, not JSONPatch`);
  const bytes = Buffer.from(textOf(patch), 'base64');
  return {
    patch: await parseReply(bytes, 'the patch is not base64-encoded JSON', turn),
    isLarge: isLarge(bytes),
  };
}

/** Parses JSON of a webhook, a large text in turns.
 *  @throws AdmissionReviewError with this text if it is not JSON */
export async function parseReply(bytes: Buffer, error: string, turn: Turn): Promise<unknown> {
  try {
    if (!isLarge(bytes)) return parseJsonText(bytes.toString('utf8'));
    const slices = readJsonSlices(bytes, ANY_LENGTH);
    for (;;) {
      const { done, value } = slices.next();
      if (done === true) return value.value;
      await turn();
    }
  } catch (cause) {
    throw new AdmissionReviewError(error, { cause });
  }
}

/** @param turn is waited for between two slices of a large patch
 *  @throws AdmissionReviewError if the review does not match the request */
export async function readReview(
  review: unknown,
  { uid, version }: { readonly uid: string; readonly version: string },
  vocabulary: Vocabulary,
  turn: Turn,
): Promise<ReviewResponse> {
  const wanted = apiVersionOf(version, vocabulary);
  if (!isMutableObject(review) || review['kind'] !== KIND || review['apiVersion'] !== wanted)
    throw new AdmissionReviewError(`expected a webhook response of ${wanted}, Kind=${KIND}`);
  const { response } = review;
  if (!isMutableObject(response))
    throw new AdmissionReviewError('the webhook returned an AdmissionReview without a response');
  if (response['uid'] !== uid) throw new AdmissionReviewError(`expected response.uid=${JSON.stringify(uid)}`);
  if (typeof response['allowed'] !== 'boolean')
    throw new AdmissionReviewError('the webhook response lacks the boolean field allowed');
  const status = isMutableObject(response['status']) ? response['status'] : {};
  const { warnings, auditAnnotations } = response;
  return {
    allowed: response['allowed'],
    code: typeof status['code'] === 'number' ? status['code'] : undefined,
    message: textOf(status['message']),
    reason: textOf(status['reason']),
    ...(await readPatch(response, turn)),
    warnings: Array.isArray(warnings) ? warnings.map(textOf).filter((text) => text !== '') : [],
    annotations: isMutableObject(auditAnnotations)
      ? Object.fromEntries(Object.entries(auditAnnotations).map(([key, value]) => [key, textOf(value)]))
      : {},
  };
}

/** Puts the content of one object into another. */
export function replaceContent(draft: ApiObject, by: ApiObject): void {
  for (const member of Object.keys(draft)) if (!(member in by)) delete draft[member];
  Object.assign(draft, by);
}
