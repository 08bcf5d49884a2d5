/** Status errors for states that are unavailable. Pure. Source: resource versions and errors, document 1 §4.6
 *  and §7. */
import { StatusError } from '#api/meta/status-error.ts';
import { expired, tooLargeResourceVersion } from '#api/meta/status-errors.ts';
import type { CacheError } from '../contract.ts';

export function badRequest(message: string): StatusError {
  return new StatusError('BadRequest', message);
}

/** Error for the first page of a list whose state has expired. */
function listExpired(): StatusError {
  return expired('The resource version of the list is too old; its state is no longer retained.');
}

/** Error for a later page: the client may start again, or continue inconsistently with the current state.
 *  `token` continues at the newest state. */
function continueExpired(token: string): StatusError {
  const message =
    'The continue token has expired, the state that the list began with is no longer retained. Start a new list, or ' +
    'use the token in this response for the rest of it as it is now: what was created, changed or deleted since the ' +
    'first page may then be missing or appear.';
  return new StatusError('Expired', message, { metadata: { continue: token } });
}

/** Error for a resource of which some values cannot be decrypted yet. */
export function sealedValues(count: number, prefix: string): StatusError {
  const message = `The store is not available: ${count} stored values below ${prefix} cannot be decrypted yet`;
  return new StatusError('ServiceUnavailable', message, { details: { retryAfterSeconds: 1 } });
}

/** Maps a failure of the cache to a Status. `requested` is the revision that the request named; `token` continues
 *  a list at the newest state, if the request was for its next page. */
export function statusOf(error: CacheError, requested: number, token?: string): StatusError {
  switch (error.reason) {
    case 'expired':
      return token === undefined ? listExpired() : continueExpired(token);
    case 'future':
      return tooLargeResourceVersion(requested, error.revision);
    case 'unavailable':
      return new StatusError('ServiceUnavailable', `The store is not available: ${error.message}`, {
        details: { retryAfterSeconds: 1 },
        cause: error,
      });
    default:
      return error.reason satisfies never;
  }
}

/** Returns the Status of a watch that can't start or continue: its message is the cache's. */
export function watchStatusOf(error: CacheError, requested: number): StatusError {
  return error.reason === 'expired' ? expired(error.message) : statusOf(error, requested);
}
