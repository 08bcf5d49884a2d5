/** Resource type as the server knows it: names and verbs (data), and a strategy with the kind's own behaviour
 *  on create, update, output and delete. One file per kind holds a strategy; `table.ts` lists them.
 *  Strategies decide; they do no I/O (except `reserve`). */

import type { MemberNames } from '#api/codec/member-names.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { Steps } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
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

/** A type whose members may be set. */
export type Draft<T> = { -readonly [K in keyof T]: T[K] };

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** What a strategy may know of the request. */
export interface StrategyContext {
  readonly vocabulary: Vocabulary;
  readonly user: UserInfo;
  readonly namespace: string;
  readonly nowMs: number;
  readonly dryRun: boolean;
  readonly gates: ReadonlySet<string>;
}

/** What deletion of an object takes. */
export interface DeletionPlan {
  /** Seconds until it may be removed; 0 removes it now if nothing else holds it. */
  readonly graceSeconds: Int64;
}

/** Frees what was reserved for an object that then wasn't stored. */
export type Release = () => Promise<void>;

export interface Strategy {
  /** Reasons why a name is no name of this kind. Default: DNS subdomain. */
  readonly nameFaults?: (name: string) => readonly string[];
  /** Clears what a client may not set at creation and sets what it never sets (initial status, phase). The generic
   *  part (uid, timestamps, generation 1, empty status where there is a status subresource) is done before. */
  readonly prepareForCreate?: (draft: ApiObject, context: StrategyContext) => void;
  /** A new object has the status that the client sent (nodes register with theirs). Default false. */
  readonly keepsStatusOnCreate?: boolean;
  /** All faults beyond metadata, which is checked for every kind. `old`, unless the object is new: what was checked
   *  when it was stored and is as it was needs no second look. */
  readonly validate?: (object: ApiObject, context: StrategyContext, old?: ApiObject) => readonly FieldError[];
  /** Faults of what may come into an object later only; `validate` is called as well. */
  readonly validateCreate?: (object: ApiObject, context: StrategyContext) => readonly FieldError[];
  /** Follows the name of a new object that was changed because another had it. */
  readonly renamed?: (draft: ApiObject, oldName: string) => void;
  /** Keeps what an update may not change. The generic part (metadata, status kept where there is a status
   *  subresource, generation raised if spec changed) is done before. */
  readonly prepareForUpdate?: (draft: ApiObject, old: ApiObject, context: StrategyContext) => void;
  /** Further faults, for which more has to be looked at than one turn of the event loop has time for. */
  readonly validateInTurns?: (object: ApiObject, context: StrategyContext) => Promise<readonly FieldError[]>;
  /** Faults of the change; `validate` is called as well. */
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
  /** Changes an object that is marked as being deleted for the first time (a namespace's phase). */
  readonly markDeleting?: (draft: ApiObject) => void;
  /** Default propagation where the client names none. Default background. */
  readonly defaultPropagation?: 'orphan' | 'background';
  /** Takes from a shared pool what the object needs (service IPs, node ports), writing it into the draft.
   *  With `old`, only what changed. */
  readonly reserve?: (
    draft: ApiObject,
    old: ApiObject | undefined,
    context: StrategyContext,
  ) => Promise<Release>;
  /** Frees what an updated object no longer has, once it is stored. */
  readonly settle?: (object: ApiObject, old: ApiObject) => Promise<void>;
  /** Frees what a removed object had. */
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
  /** Keeps everything of `old` that is not of this part. Changes the draft. */
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
  /** Kind of the options in its query: what it answers is made elsewhere too (log), and is not the parent. */
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
  /** What a successful DELETE answers with. */
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
  /** Defaults alone, for what was merged. Changes the draft. */
  applyDefaults(draft: ApiObject): void;
  /** The object with the empty members that the decoder would have given it and without those that it would have
   *  dropped: itself if nothing is to be done; it is never changed. Absent: objects have no other form. */
  completed?(object: ApiObject): ApiObject;
  /** How members merge under strategic merge patch and apply. */
  readonly model: TypeModel;
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
  /** Faults that make the object unusable: wrong types, unknown words. */
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
  /** Where the objects are: resources that share a storage are versions of one another. */
  readonly storage: StorageInfo;
  /** From the stored version to this one and back; absent where they are the same. Changes the draft. */
  readonly conversion?: Conversion;
  /** The resource in the version that is stored, whose strategy decides; absent: this one. */
  readonly stored?: Resource;
  /** Objects are prepared and checked in the version that they are served in, and only then converted (custom
   *  resources, events of the newer API). */
  readonly decidesInServed?: boolean;
  /** Fires when the resource is no longer served as it is here: watches of it end then. Absent: it always is. */
  readonly retired?: AbortSignal;
  /** Text for the Warning header of every request; absent: the version is not deprecated by its definition. */
  readonly deprecation?: string;
  /** The release that serves it no longer, such as `1.25`, where that is known. */
  readonly removedRelease?: string;
  /** How its objects show and take a number of pods; absent: as the built-in kinds do. */
  readonly scale?: ScaleAccess;
}

/** The scale subresource of a custom resource. */
export interface ScaleAccess {
  /** The Scale of an object. */
  scaleOf(object: ApiObject): ApiObject;
  /** Gives an object the number of pods that a Scale asks for. Changes the draft. */
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
  fromStorage(object: ApiObject): ApiObject | Promise<ApiObject>;
  toStorage(object: ApiObject): ApiObject | Promise<ApiObject>;
  /** Many at once, in the same order, where that is cheaper than one by one. */
  manyFromStorage?(objects: readonly ApiObject[]): Promise<readonly ApiObject[]>;
  /** Conversions with the same text make the same of the same object; forms made by them are kept under it.
   *  Default: the served `apiVersion` alone tells. */
  readonly id?: string;
  /** Somebody else converts, and has to be waited for. */
  readonly takesTime?: boolean;
}

/** What a file of one kind exports to its group's table (`core/table.ts`, `groups/table.ts`). */
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
