/** Errors of patches, with upstream's messages and status codes. */
import { StatusError } from '#api/meta/status-error.ts';

/** The patch itself is malformed, whatever object it is applied to. */
export function malformed(message: string): StatusError {
  return new StatusError('BadRequest', message);
}

/** The patch doesn't fit the object. The detail follows upstream's text in the message only: clients would
 *  print a cause without a field instead of it. */
export function unprocessable(detail: string): StatusError {
  return new StatusError(
    'Invalid',
    `the server rejected our request due to an error in our request: ${detail}`,
  );
}

export function tooLarge(detail: string): StatusError {
  return new StatusError('RequestEntityTooLarge', `Request entity is too large: ${detail}`);
}

/** Strategic merge patch requires a built-in type. */
export function strategicMergeUnsupported(): StatusError {
  const accepted = 'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml';
  return new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
  );
}
