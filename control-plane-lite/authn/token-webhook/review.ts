/** TokenReview as a webhook receives it and responds. Pure. Source: TokenReview, document 2 §2.1. */
import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject } from '#api/kit/object.ts';
import type { UserInfo } from '../../resources/contract.ts';

/** The webhook's response is no valid TokenReview. */
export class TokenReviewError extends Error {
  override readonly name = 'TokenReviewError';
}

export type TokenVerdict =
  | { readonly kind: 'user'; readonly user: UserInfo; readonly audiences: readonly string[] }
  /** `error`: the webhook's reason; empty: none. */
  | { readonly kind: 'unauthenticated'; readonly audiences: readonly string[]; readonly error: string };

type Members = Readonly<Record<string, unknown>>;

/** Returns the body of a request. */
export function formatReview(apiVersion: string, token: string, audiences: readonly string[]): string {
  return JSON.stringify({
    kind: 'TokenReview',
    apiVersion,
    metadata: { creationTimestamp: null },
    spec: { token, ...(audiences.length === 0 ? {} : { audiences }) },
    status: { user: {} },
  });
}

const invalid = (what: string): never => {
  throw new TokenReviewError(`the webhook's response is invalid: ${what}`);
};

/** Absent and null values are empty, as for upstream's decoder. */
function membersOf(value: unknown, path: string): Members {
  if (value === undefined || value === null) return {};
  return isObject(value) ? value : invalid(`${path} is not an object`);
}

function textOf(value: unknown, path: string): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : invalid(`${path} is not a string`);
}

function textsOf(value: unknown, path: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return invalid(`${path} is not a list`);
  return value.map((item: unknown, index) => textOf(item, `${path}[${index}]`));
}

function userOf(user: Members): UserInfo {
  const name = textOf(user['username'], 'status.user.username');
  if (name === '') invalid('status.user.username is required for an authenticated user');
  const uid = textOf(user['uid'], 'status.user.uid');
  const extra = Object.entries(membersOf(user['extra'], 'status.user.extra'));
  return {
    name,
    ...(uid === '' ? {} : { uid }),
    groups: textsOf(user['groups'], 'status.user.groups'),
    extra: Object.fromEntries(
      extra.map(([key, value]) => [key, textsOf(value, `status.user.extra[${key}]`)]),
    ),
  };
}

/** Reads a response, which must have the version of the request.
 *  @throws TokenReviewError */
export function parseReview(text: string, apiVersion: string): TokenVerdict {
  let review: unknown;
  try {
    review = parseJsonText(text);
  } catch (cause) {
    throw new TokenReviewError("the webhook's response is not JSON", { cause });
  }
  if (!isObject(review)) return invalid('it is not an object');
  if (review['kind'] !== 'TokenReview' || review['apiVersion'] !== apiVersion) {
    return invalid(`expected a TokenReview of ${apiVersion}`);
  }
  const status = membersOf(review['status'], 'status');
  const { authenticated = false } = status;
  const audiences = textsOf(status['audiences'], 'status.audiences');
  const error = textOf(status['error'], 'status.error');
  const user = membersOf(status['user'], 'status.user');
  if (authenticated !== true) {
    if (authenticated !== false && authenticated !== null) invalid('status.authenticated is not a boolean');
    return { kind: 'unauthenticated', audiences, error };
  }
  return { kind: 'user', user: userOf(user), audiences };
}
