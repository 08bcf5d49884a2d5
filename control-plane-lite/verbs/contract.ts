/** Operations on resources, independent of HTTP: endpoints call them for clients, controllers call them
 *  directly. Every failure is a StatusError. */

import type { Int64 } from '#api/kit/int64.ts';
import type { Steps } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import type { FieldRequirement } from '#api/meta/field-selectors.ts';
import type { Requirement } from '#api/meta/selectors.ts';
import type { CachedObject, StoredForm } from '../cache/contract.ts';
import type { ApiObject, ObjectSchema, Resource, UserInfo } from '../resources/contract.ts';

/** The user on whose behalf an operation runs, and the receiver of its warnings. */
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

/** Members of each operation that changes an object. */
interface ObjectOperation {
  readonly ref: ObjectRef;
  readonly caller: Caller;
  readonly dryRun: boolean;
}

/** Options of a write, without its object. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** Name for managedFields. */
  readonly fieldManager: string;
  /** FieldErrors found while decoding the object, reported with the validation errors. A change may set them anew
   *  on each call. */
  readonly errors?: readonly FieldError[];
  /** The body has `LARGE_BYTES` or more: each step on its object runs in a turn of the event loop of its own. */
  readonly isLarge?: boolean;
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** Options of a deletion, without its object. */
export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: Int64;
  readonly preconditions?: Preconditions;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
}

export interface DeleteWrite extends ObjectOperation, DeleteOptions {
  /** Admission has already seen the request in another form: an eviction. */
  readonly admitted?: boolean;
}

/** Deletes all selected objects of a resource. */
export interface CollectionDelete extends DeleteOptions {
  readonly resource: Resource;
  readonly selection: Selection;
  readonly caller: Caller;
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
 *  copy of the live object, to be changed and returned. */
export type Change = (live: ApiObject, isLarge?: boolean) => ApiObject | Promise<ApiObject>;

/** Also receives `undefined`: the object does not exist and is created. */
export type CreatingChange = (
  live: ApiObject | undefined,
  isLarge?: boolean,
) => ApiObject | Promise<ApiObject>;

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
  create(write: CreateWrite): Promise<Outcome>;
  /** Reads, changes and writes, retrying on conflicts. */
  update(write: UpdateWrite): Promise<Outcome>;
  delete(write: DeleteWrite): Promise<Deletion>;
  /** Runs admission on a request whose object is not stored as it is: an eviction, a token, a connection.
   *  Changes the draft.
   *  @throws StatusError if admission rejects it */
  admit(operation: AdmittedOperation): Promise<void>;
  deleteCollection(request: CollectionDelete): Promise<readonly Deletion[]>;
}

export interface AdmittedOperation extends ObjectOperation {
  readonly draft: ApiObject;
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

export interface CreateWrite extends ObjectOperation, WriteOptions {
  readonly object: ApiObject;
}

/** Changes an object, or creates it if it does not exist. */
interface CreatingUpdate {
  readonly allowCreate: true;
  readonly change: CreatingChange;
  /** How managedFields are updated: `apply` has already done it. Default `update`. */
  readonly manage?: 'update' | 'apply';
  readonly subresource?: never;
  readonly admitted?: never;
  readonly view?: never;
}

/** Changes an object that exists. */
interface ExistingUpdate {
  readonly allowCreate?: false;
  /** One that returns its parent, such as `status`. */
  readonly subresource?: string;
}

/** An apply records field ownership itself and needs the whole object. */
type ManagedChange =
  | { readonly change: Change; readonly manage?: 'update' | 'apply' }
  | { readonly change: PureChange; readonly manage?: 'update' };

type AdmittedAs =
  /** Admission sees the object, or a part of it. */
  | { readonly admitted?: false; readonly view?: AdmissionView }
  /** Admission has already seen the request in another form: a Binding. */
  | { readonly admitted: true; readonly view?: never };

/** A resource version in the new object must match the live one's; a change without one is retried. */
export type UpdateWrite = ObjectOperation &
  WriteOptions &
  (CreatingUpdate | (ExistingUpdate & ManagedChange & AdmittedAs));
