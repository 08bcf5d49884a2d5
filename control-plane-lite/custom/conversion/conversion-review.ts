/** ConversionReview request, and validation of its response. Pure. Source: apiextensions/v1,
 *  ConversionReview; upstream's webhook converter. */

import { isMutableObject } from '#api/kit/object.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { type Members } from '../../resources/view.ts';

/** The review is malformed, or does not match the request. */
export class ReviewError extends Error {
  override readonly name = 'ReviewError';
}

export interface ReviewRequest {
  readonly uid: string;
  /** Of the review itself: `v1`. */
  readonly reviewVersion: string;
  /** `apiextensions.<domain>`. */
  readonly group: string;
  readonly desiredApiVersion: string;
  readonly objects: readonly ApiObject[];
}

const KIND = 'ConversionReview';

/** Versions of the review that are spoken, the best first. */
export const REVIEW_VERSIONS: readonly string[] = ['v1', 'v1beta1'];

export const reviewBody = ({
  uid,
  reviewVersion,
  group,
  desiredApiVersion,
  objects,
}: ReviewRequest): object => ({
  kind: KIND,
  apiVersion: `${group}/${reviewVersion}`,
  request: { uid, desiredAPIVersion: desiredApiVersion, objects },
});

function fail(message: string): never {
  throw new ReviewError(message);
}

function responseOf(review: unknown, { uid, group, reviewVersion }: ReviewRequest): Members {
  if (!isMutableObject(review)) return fail('the response is not an object');
  const { kind, apiVersion, response } = review;
  const wanted = `${group}/${reviewVersion}`;
  if (kind !== KIND || apiVersion !== wanted) {
    return fail(`expected ${wanted}, Kind=${KIND}, got ${String(apiVersion)}, Kind=${String(kind)}`);
  }
  if (!isMutableObject(response)) return fail('the review has no response');
  if (response['uid'] !== uid)
    return fail(`the response has uid ${JSON.stringify(response['uid'])}, expected ${uid}`);
  return response;
}

/** The converted objects, in the order of the request. Of their metadata only labels and annotations may differ.
 *  @throws ReviewError */
export function readReview(review: unknown, request: ReviewRequest): readonly ApiObject[] {
  const response = responseOf(review, request);
  const { result, convertedObjects } = response;
  if (!isMutableObject(result) || result['status'] !== 'Success') {
    const message = isMutableObject(result) && typeof result['message'] === 'string' ? result['message'] : '';
    return fail(message === '' ? 'response.result.status was not "Success"' : message);
  }
  const converted: readonly unknown[] = Array.isArray(convertedObjects) ? convertedObjects : [];
  if (converted.length !== request.objects.length) {
    return fail(`expected ${request.objects.length} converted objects, got ${converted.length}`);
  }
  return request.objects.map((original, index) => adopt(original, converted[index], index, request));
}

/** Members of metadata that make the object the one it is. */
const IDENTITY = ['name', 'namespace', 'uid'] as const;

function adopt(
  original: ApiObject,
  converted: unknown,
  index: number,
  { desiredApiVersion }: ReviewRequest,
): ApiObject {
  const at = `convertedObjects[${index}]`;
  if (!isMutableObject(converted)) return fail(`${at} is not an object`);
  const { apiVersion, kind, metadata } = converted;
  if (apiVersion !== desiredApiVersion) {
    return fail(`${at} has apiVersion ${JSON.stringify(apiVersion)}, expected ${desiredApiVersion}`);
  }
  if (kind !== original.kind)
    return fail(`${at} has kind ${JSON.stringify(kind)}, expected ${original.kind}`);
  if (!isMutableObject(metadata)) return fail(`${at} has no metadata`);
  for (const member of IDENTITY) {
    if ((metadata[member] ?? '') !== (original.metadata[member] ?? '')) {
      return fail(`${at} has a different metadata.${member}`);
    }
  }
  return { ...converted, apiVersion, kind: original.kind, metadata: mergedMetadata(original, metadata, at) };
}

function textsOf(value: unknown, at: string): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isMutableObject(value)) return fail(`${at} must be an object`);
  const texts: Record<string, string> = {};
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== 'string') return fail(`${at}[${name}] must be a string`);
    texts[name] = text;
  }
  return texts;
}

function mergedMetadata({ metadata }: ApiObject, converted: Members, at: string): ApiObject['metadata'] {
  const { labels: _, annotations: _a, ...kept } = metadata;
  const labels = textsOf(converted['labels'], `${at}.metadata.labels`);
  const annotations = textsOf(converted['annotations'], `${at}.metadata.annotations`);
  return {
    ...kept,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}
