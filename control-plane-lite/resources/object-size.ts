/** How large an object may be: as large as etcd takes, whatever the store. */
import { writeJsonSteps } from '#api/codec/json-writer.ts';
import type { MemberNames } from '#api/codec/member-names.ts';
import type { Steps } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';

/** Default of etcd's `--max-request-bytes`. */
export const MAX_OBJECT_BYTES: number = 1.5 * 1024 * 1024;

const BACKSLASH = 0x5c;

export const objectTooLarge = (cause?: unknown): StatusError =>
  new StatusError(
    'RequestEntityTooLarge',
    `the object is too large to be stored: the limit is ${MAX_OBJECT_BYTES} bytes`,
    cause === undefined ? {} : { cause },
  );

/** Upstream stores most objects in a form that has no escapes. */
function withoutEscapes(json: Buffer): number {
  let length = json.length;
  for (let at = json.indexOf(BACKSLASH); at >= 0; at = json.indexOf(BACKSLASH, at + 2)) length -= 1;
  return length;
}

/** @throws StatusError RequestEntityTooLarge */
export function checkStoredSize(json: Buffer): void {
  if (json.length > MAX_OBJECT_BYTES && withoutEscapes(json) > MAX_OBJECT_BYTES) throw objectTooLarge();
}

/** Looks at an object that is large.
 *  @throws StatusError RequestEntityTooLarge */
export function* checkSizeSteps(object: object, names?: MemberNames): Steps<void> {
  checkStoredSize(yield* writeJsonSteps(object, names));
}
