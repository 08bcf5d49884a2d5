/** What a client is told when a state can't be had. Pure. Source: document 1, 4.6 and 7. */
import { StatusError } from '#api/meta/status-error.ts';
import { expired, tooLargeResourceVersion } from '#api/meta/status-errors.ts';
import type { CacheError } from './contract.ts';

export function badRequest(message: string): StatusError {
  return new StatusError('BadRequest', message);
}

/** The first page of a list is of a state that is gone. */
function listExpired(): StatusError {
  return expired('The resource version of the list is too old, its state is no longer kept.');
}

/** A later page is: the client may start anew, or go on with what is there now.
 *  `token` continues at the newest state. */
export function continueExpired(token: string): StatusError {
  const message =
    'The continue token has expired, the state that the list began with is no longer kept. Start a new list, or ' +
    'use the token in this answer for the rest of it as it is now: what was created, changed or deleted since the ' +
    'first page may then be missing or appear.';
  return new StatusError('Expired', message, { metadata: { continue: token } });
}

/** The Status for a failure of the cache. `asked` is the revision that the request named, `token` continues a list
 *  at the newest state, where the request was for its next page. */
export function statusOf(error: CacheError, asked: number, token?: string): StatusError {
  switch (error.reason) {
    case 'expired':
      return token === undefined ? listExpired() : continueExpired(token);
    case 'future':
      return tooLargeResourceVersion(asked, error.revision);
    case 'unavailable':
      return new StatusError('ServiceUnavailable', `The store is not available: ${error.message}`, {
        details: { retryAfterSeconds: 1 },
        cause: error,
      });
    default:
      return error.reason satisfies never;
  }
}

/** The Status for a watch that can't begin, or can't go on: its message is the cache's. */
export function watchStatusOf(error: CacheError, asked: number): StatusError {
  return error.reason === 'expired' ? expired(error.message) : statusOf(error, asked);
}
