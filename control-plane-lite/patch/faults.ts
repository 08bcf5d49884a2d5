/** How patches fail: in the words and with the codes that clients of the field know. */
import { StatusError } from '#api/meta/status-error.ts';

/** The patch itself makes no sense, whatever it is applied to. */
export function malformed(message: string): StatusError {
  return new StatusError('BadRequest', message);
}

/** The patch doesn't fit the object. The detail stands behind upstream's text alone: clients would print a cause
 *  without a field in its place. */
export function unprocessable(detail: string): StatusError {
  return new StatusError(
    'Invalid',
    `the server rejected our request due to an error in our request: ${detail}`,
  );
}

export function tooLarge(detail: string): StatusError {
  return new StatusError('RequestEntityTooLarge', `Request entity is too large: ${detail}`);
}

/** Strategic merge patch needs a built-in type. */
export function strategicMergeUnsupported(): StatusError {
  const accepted = 'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml';
  return new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
  );
}
