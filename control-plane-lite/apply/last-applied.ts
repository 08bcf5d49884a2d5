/** Migration from client-side to server-side apply. Client-side apply stores its configuration in an
 *  annotation; when the same tool changes over, fields named there cause no conflict, and the annotation is
 *  kept up to date so that the tool can change back. Pure.
 *  Source: upstream's last-applied handling. */

import { copyJson } from '#api/codec/copy-json.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { setMember } from '#api/codec/set-member.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { TypeModel } from '#api/schema/type-model.ts';
import { CLIENT_SIDE_APPLY } from '#api/vocabulary.ts';
import { type JsonObject, own } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';
import { compareObjects } from './compare.ts';
import { difference, EMPTY_SET, type FieldSet } from './field-set.ts';
import { ownedFields } from './owned-fields.ts';
import type { Scope } from './scope.ts';

/** Maximum size of all annotations of an object together, in bytes of UTF-8. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** Returns the annotation key of the tool that uses this manager name; `undefined` for all other managers. */
export function annotationOf(manager: string): string | undefined {
  return CLIENT_SIDE_APPLY.find((tool) => tool.manager === manager)?.annotation;
}

export interface LastAppliedTerms {
  readonly model: TypeModel;
  readonly scope: Scope;
  readonly canonical?: (object: JsonObject) => JsonObject;
}

/** Returns the fields that client-side apply set and that still have that value: its tool may take ownership.
 *  A value that differs only by defaults or notation counts as the same.
 *  Deviation: upstream compares the values literally, and finds conflicts of a tool with itself. */
export function fieldsLastApplied(
  live: ApiObject,
  annotation: string,
  { model, scope, canonical = (object) => object }: LastAppliedTerms,
): FieldSet {
  const last = parse(textOf(live, annotation));
  if (last === undefined || last['apiVersion'] !== live.apiVersion) return EMPTY_SET;
  const changes = compareObjects(canonical(last), live, model, scope) ?? {};
  const set = ownedFields(last, model, scope);
  const { added = EMPTY_SET, modified = EMPTY_SET, removed = EMPTY_SET } = changes;
  return difference(difference(difference(set, modified), added), removed);
}

const textOf = (object: ApiObject, annotation: string): string =>
  own(object.metadata.annotations ?? {}, annotation)?.toString() ?? '';

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = text === '' ? undefined : parseJsonText(text);
    return isMutableObject(value) ? value : undefined;
  } catch {
    // Not written by the tool: it grants nothing.
    return undefined;
  }
}

/** Reports whether the annotation, if present, equals the applied configuration. */
export function hasLastApplied(live: ApiObject, applied: Readonly<JsonObject>, annotation: string): boolean {
  const text = textOf(live, annotation);
  return text === '' || text === lastAppliedText(applied, annotation);
}

const lastAppliedText = (applied: Readonly<JsonObject>, annotation: string): string =>
  `${JSON.stringify(withoutBookkeeping(applied, annotation))}\n`;

/** Returns the object with its annotation updated to the applied configuration, if it has the annotation. */
export function withLastApplied(
  object: ApiObject,
  applied: Readonly<JsonObject>,
  annotation: string,
): ApiObject {
  if (textOf(object, annotation) === '') return object;
  const annotations: Record<string, string> = { ...object.metadata.annotations };
  annotations[annotation] = lastAppliedText(applied, annotation);
  if (sizeOf(annotations) > MAX_ANNOTATION_BYTES) delete annotations[annotation];
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function withoutBookkeeping(applied: Readonly<JsonObject>, annotation: string): unknown {
  const copy = copyJson(applied);
  const metadata = isMutableObject(copy) ? copy['metadata'] : undefined;
  if (!isMutableObject(metadata)) return copy;
  delete metadata['managedFields'];
  const annotations = metadata['annotations'];
  if (!isMutableObject(annotations)) return copy;
  const rest: JsonObject = {};
  for (const name in annotations) if (name !== annotation) setMember(rest, name, annotations[name]);
  metadata['annotations'] = rest;
  return copy;
}

function sizeOf(annotations: Readonly<Record<string, string>>): number {
  let size = 0;
  for (const [name, text] of Object.entries(annotations))
    size += Buffer.byteLength(name) + Buffer.byteLength(text);
  return size;
}
