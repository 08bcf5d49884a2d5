/** Resource type as the server knows it: names and verbs (data), and a strategy with the kind's own behaviour
 *  on create, update, output and delete. One file per kind holds a strategy; `table.ts` lists them.
 *  Strategies decide; they do no I/O (except `reserve`). */

import type { MemberNames } from '#api/codec/member-names.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { Steps, Turns } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import type { LengthOptions } from '#api/protobuf/length.ts';
import type { TypeModel } from '#api/schema/type-model.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

/** An object as it is on the wire, in the vocabulary that the server speaks: its `apiVersion`, its field names and
 *  its values are those that clients see. While a request works on it, it is the request's own draft and may be
 *  changed; once stored it is shared and never changed. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: Draft<ObjectMeta>;
  [member: string]: unknown;
}

/** Type with writable members. */
export type Draft<T> = { -readonly [K in keyof T]: T[K] };

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Request data for strategies. */
export interface StrategyContext {
  readonly vocabulary: Vocabulary;
  readonly user: UserInfo;
  readonly namespace: string;
  readonly nowMs: number;
  readonly dryRun: boolean;
  readonly gates: ReadonlySet<string>;
}

/** Parameters of a deletion. */
export interface DeletionPlan {
  /** Seconds before removal; 0 removes the object immediately, unless finalizers remain. */
  readonly graceSeconds: Int64;
}

/** Releases the reservations of an object that was not stored. */
export type Release = () => Promise<void>;

export interface Strategy {
  /** Returns the reasons why a name is invalid for this kind. Default: DNS subdomain. */
  readonly nameErrors?: (name: string) => readonly string[];
  /** Clears what a client may not set at creation and sets what it never sets (initial status, phase). The generic
   *  part (uid, timestamps, generation 1, empty status where there is a status subresource) is done before. */
  readonly prepareForCreate?: (draft: ApiObject, context: StrategyContext) => void;
  /** A new object has the status that the client sent (nodes register with theirs). Default false. */
  readonly keepsStatusOnCreate?: boolean;
  /** All errors beyond metadata, which is checked for every kind. `old`, unless the object is new: what was checked
   *  when it was stored and is as it was needs no second look. */
  readonly validate?: (object: ApiObject, context: StrategyContext, old?: ApiObject) => readonly FieldError[];
  /** Returns the errors of a new object, in addition to `validate`. */
  readonly validateCreate?: (object: ApiObject, context: StrategyContext) => readonly FieldError[];
  /** Follows the name of a new object that was changed because another had it. */
  readonly renamed?: (draft: ApiObject, oldName: string) => void;
  /** Keeps what an update may not change. The generic part (metadata, status kept where there is a status
   *  subresource, generation raised if spec changed) is done before. */
  readonly prepareForUpdate?: (draft: ApiObject, old: ApiObject, context: StrategyContext) => void;
  /** Returns further errors. Asynchronous, because the checks exceed one turn of the event loop. */
  readonly validateInTurns?: (object: ApiObject, context: StrategyContext) => Promise<readonly FieldError[]>;
  /** Returns the errors of an update, in addition to `validate`. */
  readonly validateUpdate?: (
    object: ApiObject,
    old: ApiObject,
    context: StrategyContext,
  ) => readonly FieldError[];
  /** Texts for Warning headers. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => readonly string[];
  /** PUT of a name that isn't there creates it. Default false. */
  readonly createOnUpdate?: boolean;
  /** PUT without a resource version overwrites whatever is there. Default true. */
  readonly unconditionalUpdate?: boolean;
  /** Whether `metadata.generation` is counted. Default: the kind has a `spec`. */
  readonly countsGeneration?: boolean;
  /** Whether the change of an object raises its generation; default: `spec` differs. */
  readonly generationChanged?: (object: ApiObject, old: ApiObject) => boolean;
  /** Fields beside `metadata.name` and `metadata.namespace` that field selectors may name, with their text. */
  readonly selectableFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /** How long this object's deletion takes; default: not at all. `requested` is from the DeleteOptions.
   *  `undefined`: deletion isn't graceful. */
  readonly planDeletion?: (
    object: ApiObject,
    requested: Int64 | undefined,
    context: StrategyContext,
  ) => DeletionPlan;
  /** Something of its own keeps a deleted object alive beside metadata.finalizers (a namespace's spec.finalizers).
   *  Such an object is always marked first and removed when nothing holds it. */
  readonly holdsDeletion?: (object: ApiObject) => boolean;
  /** Changes an object when its deletion begins (the phase of a namespace). */
  readonly markDeleting?: (draft: ApiObject) => void;
  /** Propagation policy if the client specifies none. Default: background. */
  readonly defaultPropagation?: 'orphan' | 'background';
  /** Takes from a shared pool what the object needs (service IPs, node ports), writing it into the draft.
   *  With `old`, only what changed. */
  readonly reserve?: (
    draft: ApiObject,
    old: ApiObject | undefined,
    context: StrategyContext,
  ) => Promise<Release>;
  /** Releases reservations that an updated object no longer uses, after it has been stored. */
  readonly settle?: (object: ApiObject, old: ApiObject) => Promise<void>;
  /** Releases the reservations of a removed object. */
  readonly release?: (object: ApiObject) => Promise<void>;
  /** Nothing that is called for an update (this strategy, the kind's parts, admission) changes anything inside the
   *  members of its draft other than `metadata`: they set such a member anew. What a patch leaves alone is then the
   *  live object's own. Default false. */
  readonly sharesUntouched?: boolean;
  /** Members never shown or stored as they came: Secret's `stringData`. Called before defaults. */
  readonly normalize?: (draft: ApiObject) => void;
  /** Cells of the Table row, in the order of the columns; absent: the default columns. */
  readonly row?: (
    object: ApiObject,
    context: { readonly nowMs: number; readonly vocabulary: Vocabulary },
  ) => readonly Cell[];
  /** Time after its last write after which an object is removed, in seconds (events). */
  readonly ttlSeconds?: number;
}

export type Cell = string | number | bigint | boolean | null | readonly Cell[];

/** A subresource that shows or changes part of its parent: `status`, `approval`, `ephemeralcontainers`… */
export interface PartStrategy {
  /** Whether it changes metadata beside its own member. Default: it does not. */
  readonly changesMetadata?: boolean;
  /** Restores all fields of `old` outside this subresource. Changes the draft. */
  readonly prepareForUpdate: (draft: ApiObject, old: ApiObject, context: StrategyContext) => void;
  readonly validateUpdate?: (
    object: ApiObject,
    old: ApiObject,
    context: StrategyContext,
  ) => readonly FieldError[];
}

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

export interface SubresourceInfo {
  readonly name: string;
  readonly kind: string;
  /** Group and version of the kind where they differ from the parent's. */
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
  /** A pass-through point: exec, attach, portforward, proxy. */
  readonly connect?: boolean;
  readonly httpMethods?: readonly string[];
  /** Kind of the options in its query. Such a subresource (log) is produced elsewhere and does not return the parent. */
  readonly options?: string;
}

/** Names are those on the wire. */
export interface ResourceInfo {
  /** `''` for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly columns: readonly ColumnDefinition[];
  /** Body of the response to a successful DELETE. */
  readonly deleteReturns: 'object' | 'Status';
  readonly subresources: ReadonlyMap<string, SubresourceInfo>;
}

/** How objects of one served version are read, checked and merged: from the type tables for built-in kinds, from
 *  the definition's schema for custom ones. */
export interface ObjectSchema {
  /** Reads a request's value. Unknown members are dropped and reported as warnings of their own.
   *  The result is a fresh draft with canonical values; it has its defaults. `known`: an object that was such a
   *  result; what the value has from it may stand in the new one as it is, but for its metadata. */
  decode(value: unknown, known?: ApiObject): DecodedObject;
  /** The same of a large value, in short steps. @throws DecodedTooLong if the object is larger than any that is stored */
  decodeInSteps?(value: unknown, options: SteppedDecoding): Steps<DecodedObject>;
  /** Applies defaults to a merged object. Changes the draft. */
  applyDefaults(draft: ApiObject): void;
  /** The object with the empty members that the decoder would have given it and without those that it would have
   *  dropped: itself if nothing is to be done; it is never changed. Absent: objects have no other form. */
  completed?(object: ApiObject): ApiObject;
  /** Merge rules of members for strategic merge patches and apply. */
  readonly model: TypeModel;
  /** At least how many bytes upstream stores of an object, as protobuf; in short steps. Absent: it stores JSON. */
  protobufLength?(object: object, options: LengthOptions): Steps<number>;
  /** Type name for protobuf (`core/v1.Pod`); absent: no protobuf. */
  readonly typeRef?: string;
  /** Schema of a custom resource in OpenAPI 3, as its definition has it; absent or `undefined`: there is none.
   *  Never changes: a resource with another schema is put into the registry anew. */
  readonly describe?: () => object | undefined;
}

export interface SteppedDecoding {
  readonly known?: ApiObject | undefined;
  /** Names of members of objects in the value that have very many. */
  readonly names?: MemberNames | undefined;
}

export interface DecodedObject {
  readonly object: ApiObject;
  /** Errors that make the object unusable: wrong types, unknown enumeration values. */
  readonly errors: readonly FieldError[];
  /** Members that the type doesn't have, for `fieldValidation`. */
  readonly unknown: readonly FieldError[];
}

/** A resource in one of the versions that it is served in. */
export interface Resource {
  readonly info: ResourceInfo;
  readonly schema: ObjectSchema;
  readonly strategy: Strategy;
  readonly parts: Readonly<Record<string, PartStrategy>>;
  /** Drops the fields of disabled feature gates, unless the old object uses them. Absent: there are none. */
  readonly dropDisabled?: (draft: ApiObject, old?: ApiObject) => void;
  /** Returns the errors of an object by the policy of the server. Absent: there is none. */
  readonly policyErrors?: (object: ApiObject) => readonly FieldError[];
  /** Where the objects are: resources that share a storage are versions of one another. */
  readonly storage: StorageInfo;
  /** From the stored version to this one and back; absent where they are the same. Changes the draft. */
  readonly conversion?: Conversion;
  /** The resource in its storage version, whose strategy applies. Default: this resource. */
  readonly stored?: Resource;
  /** Objects are prepared and checked in the version that they are served in, and only then converted (custom
   *  resources, events of the newer API). */
  readonly decidesInServed?: boolean;
  /** Fires when the resource is no longer served as it is here: watches of it end then. Absent: it always is. */
  readonly retired?: AbortSignal;
  /** Text for the Warning header of every request; absent: the version is not deprecated by its definition. */
  readonly deprecation?: string;
  /** Release that removes the version, such as `1.25`, if known. */
  readonly removedRelease?: string;
  /** Access to the scale fields. Default: those of built-in kinds. */
  readonly scale?: ScaleAccess;
}

/** The scale subresource of a custom resource. */
export interface ScaleAccess {
  /** The Scale of an object. */
  scaleOf(object: ApiObject): ApiObject;
  /** Sets the desired number of pods from a Scale. Changes the draft. */
  apply(draft: ApiObject, scale: ApiObject): void;
}

export interface StorageInfo {
  /** `/registry/apps/deployments/`, then `namespace/name` or `name`. */
  readonly prefix: string;
  /** Stored `apiVersion`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface Conversion {
  /** `turns`: the object is large, and others are to have turns in between where it takes long. */
  fromStorage(object: ApiObject, turns?: Turns): ApiObject | Promise<ApiObject>;
  toStorage(object: ApiObject, turns?: Turns): ApiObject | Promise<ApiObject>;
  /** Converts many objects at once, in order, if that is cheaper. */
  manyFromStorage?(objects: readonly ApiObject[]): Promise<readonly ApiObject[]>;
  /** Conversions with the same text make the same of the same object; forms made by them are kept under it.
   *  Default: the served `apiVersion` alone decides. */
  readonly id?: string;
  /** Whether conversion is asynchronous, through a webhook. */
  readonly takesTime?: boolean;
}

/** Definition of one kind for the table of its group (`core/table.ts`, `groups/table.ts`). */
export interface KindEntry {
  readonly strategy: Strategy;
  /** By name of the subresource. `status` without an entry gets the generic one: only `status` changes. */
  readonly parts?: Readonly<Record<string, PartStrategy>>;
  /** Where another version of the kind is the stored one. */
  readonly storedAs?: { readonly group: string; readonly version: string; readonly conversion?: Conversion };
  /** The strategy is for this version's own form and decides, not the stored version's. */
  readonly decidesInServed?: boolean;
}

/** Keys: plat group and kind with version, as in api-resources.json: `v1/Pod`, `apps/v1/Deployment`. */
export type KindTable = Readonly<Record<string, KindEntry>>;
