/** Content interface of the endpoints: request bodies as values, and objects as responses in a format that
 *  the client accepts. */
import type { MemberNames } from '#api/codec/member-names.ts';
import type { Steps } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import type { ByteSink, CachedObject, EventEncoder } from '../cache/contract.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import type { ApiObject, ObjectSchema, Resource } from '../resources/contract.ts';
import type { Outcome } from '../verbs/contract.ts';
import type { FieldValidation } from './read-request.ts';

/** The expected kind of a body. */
export interface BodyTarget {
  readonly schema: ObjectSchema;
  readonly apiVersion: string;
  readonly kind: string;
  /** Other versions with the same object format. */
  readonly aliases?: readonly string[];
}

export interface PatchBody {
  readonly type: 'json' | 'merge' | 'strategic' | 'apply';
  readonly value: unknown;
  /** Of objects in the value that have very many members. */
  readonly names?: MemberNames;
}

export interface PageToShow {
  readonly items: readonly CachedObject[];
  readonly revision: number;
  /** Token of the next page; empty if there is none. */
  readonly continue: string;
  readonly remaining?: number;
}

export interface Watching {
  readonly encoder: EventEncoder;
  readonly contentType: string;
  readonly binary: boolean;
  /** Bytes of an ERROR event. */
  error(status: object): Buffer;
  /** Present if the encoder's bytes need asynchronous processing (a conversion by a webhook) on their way to
   *  the client. */
  pass?(sink: ByteSink): ByteSink;
}

export interface CheckTerms {
  readonly words?: FieldError[];
  /** A checked object; members that the value has from it may be used unchanged. */
  readonly known?: ApiObject | undefined;
  /** The value may be large: steps are to be short. */
  readonly inSlices?: boolean;
  /** Of objects in the value that have very many members. */
  readonly names?: MemberNames | undefined;
}

export interface Content {
  /** Runs the work on a large body, or waits until others are done with theirs.
   *  Rejects with the reason of the request's signal if it fires meanwhile. */
  whenRoom<T>(request: ApiRequest, work: () => Promise<T>): Promise<T>;
  /** @throws StatusError UnsupportedMediaType, BadRequest, Invalid */
  readObject(
    request: ApiRequest,
    target: BodyTarget,
    validation: FieldValidation,
    /** Collects decoding errors that leave the object readable, to be reported with validation errors;
     *  otherwise they are thrown. */
    words?: FieldError[],
  ): Promise<ApiObject>;
  /** Checks a value produced by the server (by a patch) like a body. `known`: an object checked before; parts
   *  that the value shares with it are not checked again. */
  checkObject(
    request: ApiRequest,
    value: unknown,
    target: BodyTarget,
    validation: FieldValidation,
    terms: CheckTerms,
  ): Steps<ApiObject>;
  /** The body as options of this kind; `undefined` if it is empty. */
  readOptions(request: ApiRequest, kind: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** `resource`: the patched resource, if it does not accept all kinds of patches.
   *  @throws StatusError UnsupportedMediaType, BadRequest */
  readPatch(request: ApiRequest, validation: FieldValidation, resource?: Resource): Promise<PatchBody>;
  /** @throws StatusError NotAcceptable, before any change */
  checkAccept(request: ApiRequest, resource: Resource): void;
  object(request: ApiRequest, resource: Resource, status: number, outcome: Outcome): Promise<ApiResponse>;
  cached(request: ApiRequest, resource: Resource, entry: CachedObject): Promise<ApiResponse>;
  /** An object of another kind than the resource's: a Status, a Scale, a review. */
  plain(request: ApiRequest, status: number, object: object): ApiResponse;
  list(request: ApiRequest, resource: Resource, page: PageToShow): Promise<ApiResponse>;
  watching(request: ApiRequest, resource: Resource): Watching;
}
