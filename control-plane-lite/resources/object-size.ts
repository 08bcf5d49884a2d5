/** How large an object may be: as large as upstream stores it in etcd, whatever the store. Upstream stores most kinds as
 *  protobuf, which is up to several times shorter than their JSON. */
import { writeJsonSteps } from '#api/codec/json-writer.ts';
import type { MemberNames } from '#api/codec/member-names.ts';
import { finish, type Steps } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ObjectSchema } from './contract.ts';

/** Default of etcd's `--max-request-bytes`. */
export const MAX_OBJECT_BYTES: number = 1.5 * 1024 * 1024;

const BACKSLASH = 0x5c;

/** The form in which upstream stores objects. */
type StoredAs = Pick<ObjectSchema, 'protobufLength'>;

export const objectTooLarge = (cause?: unknown): StatusError =>
  new StatusError(
    'RequestEntityTooLarge',
    `the object is too large to be stored: the limit is ${MAX_OBJECT_BYTES} bytes`,
    cause === undefined ? {} : { cause },
  );

/** Bytes that one step looks at. */
const STEP_BYTES = 256 * 1024;

interface Escapes {
  readonly count: number;
  /** Where to look on: an escape may end behind the part. */
  readonly at: number;
}

/** Escapes that begin in a part of a JSON text. A search for each would take longer than a loop. */
function escapesIn(json: Buffer, from: number, to: number): Escapes {
  let count = 0;
  let at = from;
  for (; at < to; at += 1) {
    if (json[at] !== BACKSLASH) continue;
    count += 1;
    at += 1;
  }
  return { count, at };
}

/** Reports whether a JSON text is too long without its escapes. */
function* isTooLong(json: Buffer, beside = 0): Steps<boolean> {
  let length = json.length + beside;
  if (length <= MAX_OBJECT_BYTES) return false;
  let at = json.indexOf(BACKSLASH);
  if (at < 0) return true;
  while (at < json.length && length > MAX_OBJECT_BYTES) {
    yield;
    const found = escapesIn(json, at, Math.min(at + STEP_BYTES, json.length));
    length -= found.count;
    at = found.at;
  }
  return length > MAX_OBJECT_BYTES;
}

/** @param json of the object
 *  @throws StatusError RequestEntityTooLarge */
export function checkStoredSize(schema: StoredAs, object: object, json: Buffer): void {
  if (json.length > MAX_OBJECT_BYTES) finish(checkStoredSizeSteps(schema, object, json));
}

/** The same of a large object, in short steps.
 *  @throws StatusError RequestEntityTooLarge */
export function* checkStoredSizeSteps(schema: StoredAs, object: object, json: Buffer): Steps<void> {
  if (!(yield* isTooLong(json))) return;
  if (schema.protobufLength === undefined) throw objectTooLarge();
  yield;
  const length = yield* schema.protobufLength(object, { most: MAX_OBJECT_BYTES });
  if (length > MAX_OBJECT_BYTES) throw objectTooLarge();
}

interface SizeOptions {
  /** Of objects in the object that have very many members. */
  readonly names?: MemberNames | undefined;
  /** Bytes that it will have besides its own. */
  readonly beside?: number;
}

/** Checks a large object, or a value that is to be read as one, before it has its final form.
 *  @throws StatusError RequestEntityTooLarge */
export function* checkSizeSteps(
  { protobufLength }: StoredAs,
  object: object,
  { names, beside = 0 }: SizeOptions = {},
): Steps<void> {
  if (protobufLength === undefined) {
    const json = yield* writeJsonSteps(object, names);
    if (yield* isTooLong(json, beside)) throw objectTooLarge();
    return;
  }
  const most = MAX_OBJECT_BYTES - beside;
  if ((yield* protobufLength(object, { names, most })) > most) throw objectTooLarge();
}
