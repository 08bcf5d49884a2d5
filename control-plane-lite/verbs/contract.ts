/** Operations on resources, independent of HTTP: endpoints call them for clients, controllers call them
 *  directly. Every failure is a StatusError. */

import type { Int64 } from '#api/kit/int64.ts';
import type { Steps } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import type { FieldRequirement } from '#api/meta/field-selectors.ts';
import type { Requirement } from '#api/meta/selectors.ts';
import type { CachedObject, StoredForm } from '../cache/contract.ts';
import type { ApiObject, ObjectSchema, Resource, UserInfo } from '../resources/contract.ts';

/** The user of an operation and its options. */
export interface Caller {
  readonly user: UserInfo;
  readonly signal: AbortSignal;
  warn(text: string): void;
  annotate(key: string, value: string): void;
}

/** Identifies an object: `namespace` is empty for cluster-scoped resources. */
export interface ObjectRef {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

export interface WriteOptions {
  readonly dryRun: boolean;
  /** Name for managedFields. */
  readonly fieldManager: string;
  /** The caller handles decoding faults that depend on `fieldValidation`. */
  readonly subresource?: string;
  /** Faults found while decoding the object, reported with the validation errors. A change may set them anew
   *  on each call. */
  readonly faults?: readonly FieldError[];
  /** The body has `LARGE_BYTES` or more: each step on its object runs in a turn of the event loop of its own. */
  readonly isLarge?: boolean;
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface DeleteRequest {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: Int64;
  readonly preconditions?: Preconditions;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  /** Admission has already seen the request in another form: an eviction. */
  readonly admitted?: boolean;
}

/** An object in the requested version, as stored or, in a dry run, as it would be stored. */
export interface Outcome {
  readonly object: ApiObject;
  /** Bytes of the stored object, if it was stored in this very version. */
  readonly stored?: StoredForm;
  readonly created?: boolean;
  /** Takes several ms to be encoded. */
  readonly isLarge?: boolean;
}

export interface Deletion extends Outcome {
  /** False: the object still exists and is being deleted. */
  readonly removed: boolean;
}

/** Returns the new object for the live one; called again if the live one changed meanwhile. Receives a deep
 *  copy of the live object, to be changed and returned; `undefined` if the object does not exist (only for
 *  callers that may create). */
export type Change = (live: ApiObject | undefined, isLarge?: boolean) => ApiObject | Promise<ApiObject>;

/** A change that leaves the live object as it is and shares all unchanged members with it. */
export interface PureChange {
  /** `known`: the live object if its members need no new check, because only this process created them. */
  readonly pure: (live: ApiObject, known: ApiObject | undefined, isLarge: boolean) => Steps<ApiObject>;
}

export interface Selection {
  readonly namespace?: string;
  readonly labels: readonly Requirement[];
  readonly fields: readonly FieldRequirement[];
  /** Maximum number of objects, in the order of their names. */
  readonly limit?: number;
}

export interface Verbs {
  /** The newest state. */
  get(ref: ObjectRef): Promise<CachedObject>;
  create(ref: ObjectRef, object: ApiObject, options: WriteOptions, caller: Caller): Promise<Outcome>;
  /** Reads, changes and writes, retrying on conflicts. */
  update(
    ref: ObjectRef,
    change: Change | PureChange,
    options: UpdateOptions,
    caller: Caller,
  ): Promise<Outcome>;
  delete(ref: ObjectRef, request: DeleteRequest, caller: Caller): Promise<Deletion>;
  /** Runs admission on a request whose object is not stored as it is: an eviction, a token, a connection.
   *  Changes the draft.
   *  @throws StatusError if admission rejects it */
  admit(ref: ObjectRef, draft: ApiObject, options: AdmitOptions, caller: Caller): Promise<void>;
  deleteCollection(
    resource: Resource,
    selection: Selection,
    request: DeleteRequest,
    caller: Caller,
  ): Promise<readonly Deletion[]>;
}

export interface AdmitOptions {
  readonly dryRun: boolean;
  readonly operation: 'CREATE' | 'CONNECT';
  readonly subresource: string;
  /** Parses the draft if it is not an object of the resource. */
  readonly schema?: ObjectSchema;
}

/** A part of an object that admission sees instead of the object: its Scale. */
export interface AdmissionView {
  readonly schema: ObjectSchema;
  see(object: ApiObject): ApiObject;
  /** Writes admission's version of the part into the object. @throws StatusError Invalid */
  put(draft: ApiObject, seen: ApiObject): void;
}

export interface UpdateOptions extends WriteOptions {
  /** A resource version in the new object must match the live one's. Patches without one retry instead. */
  readonly allowCreate: boolean;
  /** How managedFields are updated: `apply` has already done it. Default `update`. */
  readonly manage?: 'update' | 'apply';
  /** Admission has already seen the request in another form: a Binding. */
  readonly admitted?: boolean;
  readonly view?: AdmissionView;
}
