/** Dependencies of all verbs, and the small steps that they share. */
import { randomUUID } from 'node:crypto';
import { copyJsonSteps } from '#api/codec/copy-json.ts';
import type { Clock } from '#api/kit/clock.ts';
import { finishInTurns, type Steps } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { objectModified, type Subject } from '#api/meta/status-errors.ts';
import type { TypeModel } from '#api/schema/type-model.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { AdmissionRequest, Operation } from '../admission/contract.ts';
import type { Cache, ResourceCache, StoredForm } from '../cache/contract.ts';
import { toStored, toStoredSteps, withRevision } from '../cache/state/stored-form.ts';
import { yieldToEventLoop } from '../kit/yield.ts';
import type { ApiObject, ObjectSchema, Resource, StrategyContext } from '../resources/contract.ts';
import { checkStoredSize, checkStoredSizeSteps } from '../resources/object-size.ts';
import { fromStorageVersion, isStoredVersion, shownOf } from '../resources/storage-versions.ts';
import { type Store, StoreError, type WriteResult } from '../store/contract.ts';
import type { Caller, ObjectRef, Preconditions, WriteOptions } from './contract.ts';

/** Input for recording field ownership after a write other than apply. */
export interface TrackInput {
  readonly live: ApiObject | undefined;
  /** Receives its `managedFields`. */
  readonly next: ApiObject;
  readonly model: TypeModel;
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string;
  /** Whether status changes only through its subresource. */
  readonly hasStatus: boolean;
  /** Whether the status's subresource changes metadata too. */
  readonly statusHasMetadata: boolean;
  readonly nowMs: number;
  /** The object is large: steps are to be short. */
  readonly inSlices: boolean;
}

/** Runs the admission plugins on a change: first all mutating ones, later all validating ones. */
export interface AdmissionChain {
  mutate(request: AdmissionRequest): Promise<void>;
  validate(request: AdmissionRequest): Promise<void>;
}

export interface VerbDeps {
  readonly store: Store;
  readonly cache: Cache;
  readonly admission: AdmissionChain;
  readonly clock: Clock;
  readonly vocabulary: Vocabulary;
  readonly gates: ReadonlySet<string>;
  readonly track: (input: TrackInput) => Steps<void>;
  readonly uid?: () => string;
}

/** A stored object and its source. */
export interface Written {
  readonly bytes: Buffer;
  readonly object: ApiObject;
}

const NO_OPTIONS = {};

export const newUid = (deps: VerbDeps): string => (deps.uid ?? randomUUID)();

export const resourceSubject = ({ info }: Resource): Subject => ({ group: info.group, name: info.plural });
export const kindSubject = ({ info }: Resource): Subject => ({ group: info.group, name: info.kind });

/** Returns the resource whose strategy decides: in the stored version, or in the served one if that has its
 *  own rules. */
export const decidingResource = (resource: Resource): Resource =>
  resource.decidesInServed === true ? resource : (resource.stored ?? resource);

export const cacheKey = ({ resource, namespace, name }: ObjectRef): string =>
  resource.storage.namespaced ? `${namespace}/${name}` : name;

export const storeKey = (ref: ObjectRef): string => `${ref.resource.storage.prefix}${cacheKey(ref)}`;

export const cacheOf = ({ cache }: VerbDeps, resource: Resource): ResourceCache =>
  cache.resource(resource.storage);

/** The members that all operations on an object have. */
interface StartedOperation {
  readonly ref: ObjectRef;
  readonly caller: Caller;
  readonly dryRun: boolean;
  readonly subresource?: string;
  readonly isLarge?: boolean;
}

export function strategyContext(
  { vocabulary, gates, clock }: VerbDeps,
  { ref: { namespace }, dryRun, caller: { user } }: StartedOperation,
): StrategyContext {
  return { vocabulary, gates, user, dryRun, namespace, nowMs: clock.now() };
}

interface AdmittedObjects {
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
  /** Of objects that are not objects of the resource. */
  readonly schema?: ObjectSchema;
}

export function admissionRequest(
  operation: Operation,
  { ref, caller, dryRun, subresource = '', isLarge = false }: StartedOperation,
  { object, old, schema }: AdmittedObjects,
): AdmissionRequest {
  const { resource, namespace, name } = ref;
  return {
    operation,
    resource,
    subresource,
    namespace,
    name,
    object,
    old,
    ...(schema === undefined ? {} : { schema }),
    user: caller.user,
    dryRun,
    isLarge,
    options: NO_OPTIONS,
    signal: () => caller.signal,
    warn: (text) => caller.warn(text),
    annotate: (key, value) => caller.annotate(key, value),
  };
}

/** @throws StatusError Conflict if the object does not match the client's preconditions */
export function checkPreconditions(
  object: ApiObject,
  ref: ObjectRef,
  { uid, resourceVersion }: Preconditions = {},
): void {
  const subject = resourceSubject(ref.resource);
  const differs = (what: string, wanted: string, found: string): never => {
    throw new StatusError(
      'Conflict',
      `Operation cannot be fulfilled on ${subject.name} ${JSON.stringify(ref.name)}: the ${what} in the precondition (${wanted}) does not match the ${what} in record (${found}). The object might have been deleted and then recreated`,
      {
        details: {
          name: ref.name,
          kind: subject.name,
          ...(subject.group === '' ? {} : { group: subject.group }),
        },
      },
    );
  };
  if (uid !== undefined && uid !== object.metadata.uid) differs('UID', uid, object.metadata.uid ?? '');
  const version = object.metadata.resourceVersion ?? '';
  if (resourceVersion !== undefined && resourceVersion !== version) {
    differs('ResourceVersion', resourceVersion, version);
  }
}

/** @throws StatusError Conflict if the new object is based on another version than the live one */
export function checkResourceVersion(draft: ApiObject, live: ApiObject, ref: ObjectRef): void {
  const given = draft.metadata.resourceVersion ?? '';
  if (given === '' || given === '0') return;
  if (given !== live.metadata.resourceVersion) throw objectModified(resourceSubject(ref.resource), ref.name);
}

/** Writes to the store; maps its failures to API errors.
 *  @throws StatusError */
export async function writeToStore(work: () => Promise<WriteResult>): Promise<WriteResult> {
  try {
    return await work();
  } catch (thrown) {
    throw storeFailure(thrown);
  }
}

/** Maps a store failure to an API error; passes any other error on unchanged. */
function storeFailure(thrown: unknown): unknown {
  if (!(thrown instanceof StoreError)) return thrown;
  const options = { cause: thrown };
  switch (thrown.reason) {
    case 'noSpace':
      return new StatusError(
        'InsufficientStorage',
        `the server has no space left to store it: ${thrown.message}`,
        options,
      );
    case 'readOnly':
      return new StatusError(
        'InsufficientStorage',
        `the server's disk is read-only: ${thrown.message}`,
        options,
      );
    case 'tooLarge':
      return new StatusError('RequestEntityTooLarge', thrown.message, options);
    case 'compacted':
      return new StatusError('Expired', thrown.message, options);
    case 'future':
    case 'unavailable':
    case 'closed':
      return new StatusError('ServiceUnavailable', `the store is not available: ${thrown.message}`, {
        ...options,
        details: { retryAfterSeconds: 1 },
      });
    case 'corrupt':
      return new StatusError('InternalError', 'the store is damaged', options);
    default:
      return thrown.reason satisfies never;
  }
}

/** Returns the object stored with the revision: the cache's, or one derived from the bytes if the cache has
 *  not seen the write yet. */
export function storedNow(
  deps: VerbDeps,
  ref: ObjectRef,
  revision: number,
  written?: Written,
): StoredForm | undefined {
  const entry = cacheOf(deps, ref.resource).get(cacheKey(ref));
  if (entry?.revision === revision) return entry;
  if (written === undefined) return undefined;
  return new WrittenForm(written, revision);
}

/** An object just written, as the cache will have it. A class, because V8 promotes the accessors of an object
 *  literal to its old generation: each would retain its source object until the next major collection. */
class WrittenForm implements StoredForm {
  readonly #written: Written;
  readonly #revision: number;

  constructor(written: Written, revision: number) {
    this.#written = written;
    this.#revision = revision;
  }

  get json(): Buffer {
    return withRevision(this.#written.bytes, this.#revision);
  }

  object(): ApiObject {
    return withResourceVersion(this.#written.object, this.#revision);
  }

  form(_name: string, make: () => Buffer): Buffer {
    return make();
  }
}

/** Returns the object after a write: a copy with its new version. The stored object is shared and stays
 *  unchanged. */
export function withResourceVersion(object: ApiObject, revision: number): ApiObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

/** Appends validation errors to those of decoding, without duplicates. */
export function withReadErrors(
  { errors: read = [] }: WriteOptions,
  errors: readonly FieldError[],
): readonly FieldError[] {
  if (read.length === 0) return errors;
  const fields = new Set(read.map(({ field }) => field));
  return [...read, ...errors.filter(({ field }) => !fields.has(field))];
}

/** The schema of the form that is stored. */
const storedSchema = ({ resource }: ObjectRef): ObjectSchema => (resource.stored ?? resource).schema;

/** Encodes the bytes stored for the object; the cache registers the object that they were encoded from.
 *  @throws StatusError RequestEntityTooLarge */
export function bytesOf(deps: VerbDeps, ref: ObjectRef, object: ApiObject): Buffer {
  const stored = toStored(object);
  checkStoredSize(storedSchema(ref), object, stored);
  deps.cache.offer(storeKey(ref), stored, object);
  return stored;
}

/** The same of a large object, in short steps. */
export function* bytesSteps(deps: VerbDeps, ref: ObjectRef, object: ApiObject): Steps<Buffer> {
  const stored = yield* toStoredSteps(object);
  yield* checkStoredSizeSteps(storedSchema(ref), object, stored);
  deps.cache.offer(storeKey(ref), stored, object);
  return stored;
}

/** Returns an object that has been stored in the version of the request. A client that is gone does not end it: the
 *  change is made. */
export async function shownWritten(
  resource: Resource,
  object: ApiObject,
  isLarge: boolean,
): Promise<ApiObject> {
  if (!isLarge || isStoredVersion(resource)) return shownOf(resource, object);
  const copy = await finishInTurns(copyJsonSteps(object), yieldToEventLoop);
  await yieldToEventLoop();
  const shown = await fromStorageVersion(resource, copy, yieldToEventLoop);
  await yieldToEventLoop();
  return shown;
}
