/** What can be done with resources, apart from HTTP: the endpoints call it for clients, controllers call it
 *  directly. Every failure is a StatusError. */
import type { FieldError } from '#api/meta/field-error.ts';
import type { FieldRequirement } from '#api/meta/field-selectors.ts';
import type { Requirement } from '#api/meta/selectors.ts';
import type { CachedObject, StoredForm } from '../cache/contract.ts';
import type { ApiObject, ObjectSchema, Resource, UserInfo } from '../resources/contract.ts';

/** On whose behalf, and how. */
export interface Caller {
  readonly user: UserInfo;
  readonly signal: AbortSignal;
  warn(text: string): void;
  annotate(key: string, value: string): void;
}

/** Which object: `namespace` is empty for resources without. */
export interface ObjectRef {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

export interface WriteOptions {
  readonly dryRun: boolean;
  /** Name for managedFields. */
  readonly fieldManager: string;
  /** Faults of decoding that depend on `fieldValidation` are the caller's matter. */
  readonly subresource?: string;
  /** Faults that were found when the object was read, to be told with those of validation. A change may set them
   *  anew each time it is called. */
  readonly faults?: readonly FieldError[];
  /** The body has `LARGE_BYTES` or more: each step on its object takes a turn of the event loop of its own. */
  readonly isLarge?: boolean;
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface DeleteRequest {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: Preconditions;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  /** Admission has seen the request in another form: an eviction. */
  readonly admitted?: boolean;
}

/** An object in the version asked for, as stored or (in a dry run) as it would be. */
export interface Outcome {
  readonly object: ApiObject;
  /** Bytes of the stored object, where it was stored in this very version. */
  readonly stored?: StoredForm;
  readonly created?: boolean;
}

export interface Deletion extends Outcome {
  /** False: the object is there still, being deleted. */
  readonly removed: boolean;
}

/** Makes the new object of the live one; called again if the live one changed meanwhile. A deep copy of the live
 *  object is handed in, to be changed and returned. `undefined` in: nothing is there (only where the caller may create). */
export type Change = (live: ApiObject | undefined) => ApiObject | Promise<ApiObject>;

/** A change that leaves the live object as it is, and of what it doesn't change gives the very members. */
export interface PureChange {
  /** `known`: the live object if its members need not be read again, for nobody but this process made them. */
  readonly pure: (live: ApiObject, known: ApiObject | undefined) => ApiObject;
}

export interface Selection {
  readonly namespace?: string;
  readonly labels: readonly Requirement[];
  readonly fields: readonly FieldRequirement[];
  /** At most so many of them, in the order of their names. */
  readonly limit?: number;
}

export interface Verbs {
  /** The newest state. */
  get(ref: ObjectRef): Promise<CachedObject>;
  create(ref: ObjectRef, object: ApiObject, options: WriteOptions, caller: Caller): Promise<Outcome>;
  /** Reads, changes and writes until no one else was faster. */
  update(
    ref: ObjectRef,
    change: Change | PureChange,
    options: UpdateOptions,
    caller: Caller,
  ): Promise<Outcome>;
  delete(ref: ObjectRef, request: DeleteRequest, caller: Caller): Promise<Deletion>;
  /** Has admission look at what is not stored as it is: an eviction, a token, a connection. Changes the draft.
   *  @throws StatusError if admission refuses it */
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
  /** Reads the draft, where it is none of the resource. */
  readonly schema?: ObjectSchema;
}

/** A part of an object that admission sees instead of the object: its Scale. */
export interface AdmissionView {
  readonly schema: ObjectSchema;
  see(object: ApiObject): ApiObject;
  /** Puts what admission made of the part into the object. @throws StatusError Invalid */
  put(draft: ApiObject, seen: ApiObject): void;
}

export interface UpdateOptions extends WriteOptions {
  /** A resource version in the new object must be the live one's. Patches without one retry instead. */
  readonly allowCreate: boolean;
  /** How managedFields are kept: `apply` has already done it. Default `update`. */
  readonly manage?: 'update' | 'apply';
  /** Admission has seen the request in another form: a Binding. */
  readonly admitted?: boolean;
  readonly view?: AdmissionView;
}
