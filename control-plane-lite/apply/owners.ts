/** Field managers of an object: decodes and encodes `metadata.managedFields`. Pure.
 *  Source: managedFields, document 1 §2.5 and §4.9; upstream's field manager. */

import type { ManagedFieldsEntry } from '#api/gen/meta-v1.ts';
import { isObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import { parseTime, TimeError } from '#api/meta/time.ts';
import { type JsonObject, own } from '../patch/json-value.ts';
import { EMPTY_SET, type FieldSet, isEmptySet } from './field-set.ts';
import { FieldsV1Error, parseFieldsV1, parseFieldsV1Steps } from './fields-v1.ts';

export type ManagerOperation = 'Apply' | 'Update';

export interface ManagerIdentity {
  readonly manager: string;
  readonly operation: ManagerOperation;
  /** API version of the set. An applier is the same manager in every version. */
  readonly apiVersion: string;
  /** `''`: the object itself. */
  readonly subresource: string;
}

export interface Owner extends ManagerIdentity {
  /** RFC 3339; absent: unknown. */
  readonly time: string | undefined;
  readonly set: FieldSet;
  /** The entry with the same content. */
  readonly entry: ManagedFieldsEntry | undefined;
}

export const UNKNOWN_MANAGER = 'unknown';

/** Reports whether two entries belong to the same manager. */
export function isSameManager(a: ManagerIdentity, b: ManagerIdentity): boolean {
  return (
    a.operation === b.operation &&
    a.manager === b.manager &&
    a.subresource === b.subresource &&
    (a.operation === 'Apply' || a.apiVersion === b.apiVersion)
  );
}

/** A request to reset ownership: a list of one empty entry (document 1 §4.9.10). */
export function isReset(entries: unknown): boolean {
  if (!Array.isArray(entries) || entries.length !== 1) return false;
  const only: unknown = entries[0];
  return isObject(only) && Object.keys(only).length === 0;
}

/** Entries stored by this server: their sets are used unchanged. */
export function storedOwners(entries: readonly ManagedFieldsEntry[] | undefined): readonly Owner[] {
  return (entries ?? []).flatMap((entry) => {
    const owner = ownerOf(entry, (fields) => (isStoredSet(fields) ? fields : EMPTY_SET), true);
    return owner === undefined ? [] : [owner];
  });
}

/** Stored sets already have the form that set operations use. */
const isStoredSet = (fields: unknown): fields is FieldSet => isObject(fields);

/** Parses entries from a client. `undefined`: they are invalid, and the stored ones count. */
export function parseOwners(entries: unknown): readonly Owner[] | undefined {
  if (!Array.isArray(entries)) return undefined;
  const owners: Owner[] = [];
  for (const entry of entries) {
    const owner = isObject(entry) ? parseOwner(entry) : undefined;
    if (owner === undefined) return undefined;
    const at = owners.findIndex((other) => isSameManager(other, owner));
    if (at < 0) owners.push(owner);
    else owners[at] = owner;
  }
  return owners;
}

/** The same of entries with very many fields, in short steps. */
export function* parseOwnersSteps(entries: unknown): Steps<readonly Owner[] | undefined> {
  if (!Array.isArray(entries)) return undefined;
  const parsed: unknown[] = [];
  try {
    for (const entry of entries) {
      const fields = isObject(entry) ? own(entry, 'fieldsV1') : undefined;
      if (fields === undefined || fields === null) parsed.push(entry);
      else parsed.push({ ...entry, fieldsV1: new ParsedFields(yield* parseFieldsV1Steps(fields)) });
    }
  } catch (cause) {
    if (cause instanceof FieldsV1Error) return undefined;
    throw cause;
  }
  yield;
  return parseOwners(parsed);
}

/** A set that needs no parsing any more. */
class ParsedFields {
  readonly set: FieldSet;
  constructor(set: FieldSet) {
    this.set = set;
  }
}

const fieldsOf = (fields: unknown): FieldSet =>
  fields instanceof ParsedFields ? fields.set : parseFieldsV1(fields);

function parseOwner(entry: JsonObject): Owner | undefined {
  const { fieldsType, time } = entry;
  if (fieldsType !== 'FieldsV1' || !isTime(time)) return undefined;
  const text = (name: string): string => {
    const value = own(entry, name);
    return typeof value === 'string' ? value : '';
  };
  try {
    return ownerOf(
      {
        manager: text('manager'),
        operation: text('operation'),
        apiVersion: text('apiVersion'),
        subresource: text('subresource'),
        ...(typeof time === 'string' ? { time } : {}),
        fieldsV1: own(entry, 'fieldsV1') ?? EMPTY_SET,
      },
      fieldsOf,
      false,
    );
  } catch (cause) {
    if (cause instanceof FieldsV1Error) return undefined;
    throw cause;
  }
}

function isTime(value: unknown): boolean {
  return (
    value === undefined || value === null || (typeof value === 'string' && secondsOf(value) !== undefined)
  );
}

function ownerOf(
  entry: ManagedFieldsEntry,
  read: (fields: unknown) => FieldSet,
  stored: boolean,
): Owner | undefined {
  const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsV1 } = entry;
  if (operation !== 'Apply' && operation !== 'Update') return undefined;
  const set = read(fieldsV1);
  return { manager, operation, apiVersion, subresource, time, set, entry: stored ? entry : undefined };
}

/** Returns the owner with another set; the same object if the set is the same. */
export function withSet(owner: Owner, set: FieldSet): Owner {
  return set === owner.set ? owner : { ...owner, set, entry: undefined };
}

/** Returns the list for `metadata.managedFields`, in upstream's order; `undefined` if it is empty. */
export function formatOwners(owners: readonly Owner[]): readonly ManagedFieldsEntry[] | undefined {
  const kept = owners.filter(({ set }) => !isEmptySet(set));
  if (kept.length === 0) return undefined;
  return (kept.length === 1 ? kept : kept.toSorted(compareOwners)).map(entryOf);
}

/** Encodes one entry. */
export function entryOf({
  manager,
  operation,
  apiVersion,
  subresource,
  time,
  set,
  entry,
}: Owner): ManagedFieldsEntry {
  if (entry !== undefined) return entry;
  return {
    manager,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: set,
    ...(subresource === '' ? {} : { subresource }),
  };
}

function compareOwners(a: Owner, b: Owner): number {
  return (
    compareText(a.operation, b.operation) ||
    (secondsOf(a.time) ?? 0) - (secondsOf(b.time) ?? 0) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns Unix seconds; `undefined` for an invalid time. */
export function secondsOf(time: string | undefined): number | undefined {
  if (time === undefined) return undefined;
  try {
    return Math.floor(parseTime(time) / 1000);
  } catch (cause) {
    if (cause instanceof TimeError) return undefined;
    throw cause;
  }
}
