/** How an object lies in the store: its JSON without the resource version, which the store itself counts. Members
 *  stand in the order `kind`, `apiVersion`, `metadata` (`name`, `generateName`, `namespace`, `uid`, `labels`, then
 *  the rest), then all others. The revision is put in after `uid` when bytes come out of the store.
 *
 *  Why one search for `"uid":"` finds the right place whatever a user wrote: these bytes can only be the end of a
 *  member's name followed by the start of a string, because a quote inside of JSON text is escaped. Only the names
 *  `kind`, `apiVersion`, `metadata`, `name`, `generateName` and `namespace` come before the object's own uid, and
 *  the texts after them are followed by a comma, never by a colon. */
import { embeddedText } from '#api/codec/embedded-text.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { ApiObject } from '../resources/contract.ts';

const UID = Buffer.from('"uid":"');
const REVISION = Buffer.from(',"resourceVersion":"');
const LABELS = Buffer.from(',"labels":{');
const LABELS_ANYWHERE = Buffer.from('"labels":{');
const QUOTE = 0x22;
const CLOSING_BRACE = 0x7d;

/** Bytes that are no stored object. */
export class StoredFormError extends Error {
  override readonly name = 'StoredFormError';
}

/** `,"name":value`, or nothing where there is no value. */
function member(name: string, value: unknown): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}

/** The members of an object as they follow others: with a comma in front, and the closing brace. */
function restOf(members: object, format: (value: unknown) => string = JSON.stringify): string {
  const text = format(members);
  return text === '{}' ? text.slice(1) : `,${text.slice(1)}`;
}

/** The bytes to store. The text is joined by hand because an object's own order puts names like `0` first.
 *  @throws StoredFormError if the object has no uid, or one that JSON would escape */
export function toStored(object: ApiObject): Buffer {
  const { kind, apiVersion, metadata, ...others } = object;
  const { name, generateName, namespace, uid, labels, resourceVersion: _, ...rest } = metadata;
  const uidText = JSON.stringify(uid ?? '');
  if (uidText.length < 3 || uidText.length !== (uid ?? '').length + 2) {
    throw new StoredFormError(`${kind} ${namespace ?? ''}/${name ?? ''} has no usable uid`);
  }
  const identity = `"name":${JSON.stringify(name ?? '')}${member('generateName', generateName)}${member('namespace', namespace)}`;
  const meta = `{${identity},"uid":${uidText}${member('labels', labels)}${restOf(rest)}`;
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)}`;
  // Clients compare the data of ControllerRevisions byte by byte.
  const format = kind === 'ControllerRevision' ? embeddedText : undefined;
  return Buffer.from(`${head},"metadata":${meta}${restOf(others, format)}`);
}

/** Offset after the closing quote of the object's uid. */
function afterUid(bytes: Buffer): number {
  const at = bytes.indexOf(UID);
  const end = at < 0 ? -1 : bytes.indexOf(QUOTE, at + UID.length);
  if (end < 0) throw new StoredFormError('bytes are no stored object: no uid');
  return end + 1;
}

/** `bytes` with `text` (ASCII) between the offsets `from` and `to` instead of what was there. */
function splice(bytes: Buffer, from: number, to: number, text: string): Buffer {
  // Not from Node's pool: one small object that lives on would keep a whole slab of dead ones.
  const result = Buffer.allocUnsafeSlow(bytes.length - (to - from) + text.length);
  bytes.copy(result, 0, 0, from);
  result.write(text, from, 'latin1');
  bytes.copy(result, from + text.length, to);
  return result;
}

/** The JSON that clients get, of stored bytes and the revision that they were stored with.
 *  @throws StoredFormError */
export function withRevision(stored: Buffer, revision: number): Buffer {
  const at = afterUid(stored);
  return splice(stored, at, at, `,"resourceVersion":"${revision}"`);
}

/** Offsets of the resource version's digits in JSON made by `withRevision`. */
function revisionSpan(json: Buffer): readonly [number, number] {
  const at = afterUid(json);
  const start = at + REVISION.length;
  if (json.compare(REVISION, 0, REVISION.length, at, start) !== 0) {
    throw new StoredFormError('bytes have no resource version after the uid');
  }
  return [start, json.indexOf(QUOTE, start)];
}

/** The same JSON with another resource version. @throws StoredFormError */
export function replaceRevision(json: Buffer, revision: number): Buffer {
  const [from, to] = revisionSpan(json);
  return splice(json, from, to, String(revision));
}

/** Undoes `withRevision`. @throws StoredFormError */
export function withoutRevision(json: Buffer): Buffer {
  const [from, to] = revisionSpan(json);
  return splice(json, from - REVISION.length, to + 1, '');
}

/** Length of what `withoutRevision` gives. @throws StoredFormError */
export function lengthWithoutRevision(json: Buffer): number {
  const [from, to] = revisionSpan(json);
  return json.length - (REVISION.length + to - from + 1);
}

/** The object's uid. @throws StoredFormError */
export function uidOf(bytes: Buffer): string {
  const end = afterUid(bytes) - 1;
  return bytes.toString('latin1', bytes.indexOf(UID) + UID.length, end);
}

/** The labels in JSON made by `withRevision`, without parsing the rest; `undefined` if only a whole parse can tell. */
export function scanLabels(json: Buffer): Readonly<Record<string, string>> | undefined {
  const at = revisionSpan(json)[1] + 1;
  const start = at + LABELS.length;
  if (start > json.length || json.compare(LABELS, 0, LABELS.length, at, start) !== 0) {
    return json.includes(LABELS_ANYWHERE, at) ? undefined : {};
  }
  // Valid labels hold no brace. Should one, the text cut off there is no JSON.
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

/** The members of a value that are texts. */
export function labelsFrom(value: unknown): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  if (typeof value !== 'object' || value === null) return labels;
  for (const [key, text] of Object.entries(value)) if (typeof text === 'string') labels[key] = text;
  return labels;
}
