/** Storage format of objects: JSON without the resource version, which the store itself counts. Members are
 *  in the order `kind`, `apiVersion`, `metadata` (`name`, `generateName`, `namespace`, `uid`, `labels`, then
 *  the rest), then all others. The revision is inserted after `uid` when bytes are read from the store.
 *
 *  Searching for `"uid":"` finds the right place whatever a user wrote: these bytes can only be the end of a
 *  member's name followed by the start of a string, because a quote inside JSON text is escaped. Only the
 *  names `kind`, `apiVersion`, `metadata`, `name`, `generateName` and `namespace` precede the object's own
 *  uid, and their string values are followed by a comma, never by a colon. */
import { embeddedText } from '#api/codec/embedded-text.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { writeJsonSteps } from '#api/codec/json-writer.ts';
import type { Steps } from '#api/kit/steps.ts';
import { createTransientMap } from '#api/kit/transient.ts';
import type { ApiObject } from '../../resources/contract.ts';

const UID = Buffer.from('"uid":"');
const REVISION = Buffer.from(',"resourceVersion":"');
const LABELS = Buffer.from(',"labels":{');
const LABELS_ANYWHERE = Buffer.from('"labels":{');
const COMMA = Buffer.from(',');
const QUOTE = 0x22;
const CLOSING_BRACE = 0x7d;

/** Bytes that are not a stored object. */
export class StoredFormError extends Error {
  override readonly name = 'StoredFormError';
}

/** Returns `,"name":value`, or an empty string if there is no value. */
function member(name: string, value: unknown): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}

/** Returns the members of an object as a continuation: with a leading comma, and the closing brace. */
function restOf(members: object, format: (value: unknown) => string = JSON.stringify): string {
  const text = format(members);
  return text === '{}' ? text.slice(1) : `,${text.slice(1)}`;
}

/** Returns the bytes to store. The text is joined by hand because an object's own order puts names like `0`
 *  first.
 *  @throws StoredFormError if the object has no uid, or one that JSON would escape */
export function toStored(object: ApiObject): Buffer {
  const { begin, labels, rest, others, format } = partsOf(object);
  return Buffer.from(`${begin}${member('labels', labels)}${restOf(rest)}${restOf(others, format)}`);
}

/** The same of a large object, in short steps.
 *  @throws StoredFormError */
export function* toStoredSteps(object: ApiObject): Steps<Buffer> {
  const { begin, labels, rest, others, format } = partsOf(object);
  if (format !== undefined) return toStored(object);
  const pieces: Buffer[] = [Buffer.from(begin)];
  if (labels !== undefined) pieces.push(Buffer.from(',"labels":'), yield* writeJsonSteps(labels));
  for (const members of [rest, others]) {
    yield;
    const text = yield* writeJsonSteps(members);
    if (text.length > '{}'.length) pieces.push(COMMA);
    pieces.push(text.subarray(1));
  }
  return Buffer.concat(pieces);
}

/** `begin`: up to the uid. */
function partsOf(object: ApiObject) {
  const { kind, apiVersion, metadata, ...others } = object;
  const { name, generateName, namespace, uid, labels, resourceVersion: _, ...rest } = metadata;
  const uidText = JSON.stringify(uid ?? '');
  if (uidText.length < 3 || uidText.length !== (uid ?? '').length + 2) {
    throw new StoredFormError(`${kind} ${namespace ?? ''}/${name ?? ''} has no usable uid`);
  }
  const identity = `"name":${JSON.stringify(name ?? '')}${member('generateName', generateName)}${member('namespace', namespace)}`;
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)}`;
  const begin = `${head},"metadata":{${identity},"uid":${uidText}`;
  // Clients compare the data of ControllerRevisions byte by byte.
  const format = kind === 'ControllerRevision' ? embeddedText : undefined;
  return { begin, labels, rest, others, format };
}

/** Returns the offset after the closing quote of the object's uid. */
function afterUid(bytes: Buffer): number {
  const at = bytes.indexOf(UID);
  const end = at < 0 ? -1 : bytes.indexOf(QUOTE, at + UID.length);
  if (end < 0) throw new StoredFormError('not a stored object: uid missing');
  return end + 1;
}

/** Returns `bytes` with the range from `from` to `to` replaced by `text` (ASCII). */
function splice(bytes: Buffer, from: number, to: number, text: string): Buffer {
  // Not from Node's pool: one small surviving object would retain a whole slab of dead ones.
  const result = Buffer.allocUnsafeSlow(bytes.length - (to - from) + text.length);
  bytes.copy(result, 0, 0, from);
  result.write(text, from, 'latin1');
  bytes.copy(result, from + text.length, to);
  return result;
}

/** Returns the JSON for clients, from stored bytes and their revision.
 *  @throws StoredFormError */
export function withRevision(stored: Buffer, revision: number): Buffer {
  const at = afterUid(stored);
  return splice(stored, at, at, `,"resourceVersion":"${revision}"`);
}

/** Returns the offsets of the resource version's digits in JSON created by `withRevision`. */
function revisionSpan(json: Buffer): readonly [number, number] {
  const at = afterUid(json);
  const start = at + REVISION.length;
  if (json.compare(REVISION, 0, REVISION.length, at, start) !== 0) {
    throw new StoredFormError('not a stored object: no resource version after the uid');
  }
  return [start, json.indexOf(QUOTE, start)];
}

/** Returns the same JSON with another resource version. @throws StoredFormError */
export function replaceRevision(json: Buffer, revision: number): Buffer {
  const [from, to] = revisionSpan(json);
  return splice(json, from, to, String(revision));
}

/** Undoes `withRevision`. @throws StoredFormError */
export function withoutRevision(json: Buffer): Buffer {
  const [from, to] = revisionSpan(json);
  return splice(json, from - REVISION.length, to + 1, '');
}

/** Returns the length of the result of `withoutRevision`. @throws StoredFormError */
export function lengthWithoutRevision(json: Buffer): number {
  const [from, to] = revisionSpan(json);
  return json.length - (REVISION.length + to - from + 1);
}

/** Returns the object's uid. @throws StoredFormError */
export function uidOf(bytes: Buffer): string {
  const end = afterUid(bytes) - 1;
  return bytes.toString('latin1', bytes.indexOf(UID) + UID.length, end);
}

/** Returns the labels in JSON created by `withRevision`, without parsing the rest; `undefined` if only a
 *  whole parse can find them. */
export function scanLabels(json: Buffer): Readonly<Record<string, string>> | undefined {
  const at = revisionSpan(json)[1] + 1;
  const start = at + LABELS.length;
  if (start > json.length || json.compare(LABELS, 0, LABELS.length, at, start) !== 0) {
    return json.includes(LABELS_ANYWHERE, at) ? undefined : {};
  }
  // Valid labels contain no brace. If one does, the truncated text is not JSON.
  const end = json.indexOf(CLOSING_BRACE, start);
  return parseLabels(json.toString('utf8', start - 1, end + 1));
}

function parseLabels(text: string): Readonly<Record<string, string>> | undefined {
  try {
    return labelsFrom(parseJsonText(text));
  } catch {
    return undefined;
  }
}

/** Returns the string members of a value. */
export function labelsFrom(value: unknown): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  if (typeof value !== 'object' || value === null) return labels;
  for (const [key, text] of Object.entries(value)) if (typeof text === 'string') labels[key] = text;
  return labels;
}

/** Objects whose bytes this server is about to store, until the store reports them, so that the stored bytes need not
 *  be parsed again. */
export interface PendingWrites {
  /** The newest object registered for a key counts. */
  add(key: string, stored: Buffer, object: ApiObject): void;
  /** Takes the object that the bytes stored under the key were encoded from, if it was registered. */
  take(key: string, stored: Buffer): ApiObject | undefined;
}

interface PendingWrite {
  readonly stored: Buffer;
  readonly object: ApiObject;
}

/** Failed writes leave their entries behind; the number of entries is bounded by the writes that can be in
 *  flight. */
const MAX_PENDING = 1024;

export function createPendingWrites(limit: number = MAX_PENDING): PendingWrites {
  /** Oldest first. */
  const pendingWrites = createTransientMap<string, PendingWrite>();
  return {
    add(key, stored, object) {
      pendingWrites.delete(key);
      pendingWrites.set(key, { stored, object });
      if (pendingWrites.size <= limit) return;
      const [oldest] = pendingWrites.keys();
      if (oldest !== undefined) pendingWrites.delete(oldest);
    },
    take(key, stored) {
      const pendingWrite = pendingWrites.get(key);
      // Another server may have written first; the event of this entry may still arrive.
      if (pendingWrite === undefined || !pendingWrite.stored.equals(stored)) return undefined;
      pendingWrites.delete(key);
      return pendingWrite.object;
    },
  };
}
