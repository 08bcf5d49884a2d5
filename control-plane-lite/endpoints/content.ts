/** What the endpoints need of content: bodies as values, and objects as responses in the form that a client accepts. */
import type { FieldError } from '#api/meta/field-error.ts';
import type { ByteSink, CachedObject, EventEncoder } from '../cache/contract.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import type { ApiObject, ObjectSchema, Resource } from '../resources/contract.ts';
import type { Outcome } from '../verbs/contract.ts';
import type { FieldValidation } from './query.ts';

/** What a body is to be. */
export interface BodyTarget {
  readonly schema: ObjectSchema;
  readonly apiVersion: string;
  readonly kind: string;
  /** Other versions whose objects look the same. */
  readonly aliases?: readonly string[];
}

export interface PatchBody {
  readonly type: 'json' | 'merge' | 'strategic' | 'apply';
  readonly value: unknown;
}

export interface PageToShow {
  readonly items: readonly CachedObject[];
  readonly revision: number;
  /** Token of the next page; empty: there is none. */
  readonly continue: string;
  readonly remaining?: number;
}

export interface Watching {
  readonly encoder: EventEncoder;
  readonly contentType: string;
  readonly binary: boolean;
  /** Bytes of an ERROR event. */
  error(status: object): Buffer;
  /** Where the encoder's bytes have to pass on their way to the client: they are not what it asked for until what
   *  takes its time (a conversion by a webhook) is done. */
  pass?(sink: ByteSink): ByteSink;
}

export interface Content {
  /** @throws StatusError UnsupportedMediaType, BadRequest, Invalid */
  readObject(
    request: ApiRequest,
    target: BodyTarget,
    validation: FieldValidation,
    /** Takes faults that leave the object readable, to be told along with others; else they are thrown. */
    words?: FieldError[],
  ): Promise<ApiObject>;
  /** A value that was made here (patched), checked as a body is. `known`: an object that was; what the value has from
   *  it may be taken as it is. */
  checkObject(
    request: ApiRequest,
    value: unknown,
    target: BodyTarget,
    validation: FieldValidation,
    words?: FieldError[],
    known?: ApiObject,
  ): ApiObject;
  /** The body as options of this kind; `undefined` if it is empty. */
  readOptions(request: ApiRequest, kind: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** `resource`: what is patched, if not all kinds of patches are for it.
   *  @throws StatusError UnsupportedMediaType, BadRequest */
  readPatch(request: ApiRequest, validation: FieldValidation, resource?: Resource): Promise<PatchBody>;
  /** @throws StatusError NotAcceptable, before anything is done */
  checkAccept(request: ApiRequest, resource: Resource): void;
  object(request: ApiRequest, resource: Resource, status: number, outcome: Outcome): Promise<ApiResponse>;
  cached(request: ApiRequest, resource: Resource, entry: CachedObject): Promise<ApiResponse>;
  /** An object of another kind than the resource's: a Status, a Scale, a review. */
  plain(request: ApiRequest, status: number, object: object): ApiResponse;
  list(request: ApiRequest, resource: Resource, page: PageToShow): Promise<ApiResponse>;
  watching(request: ApiRequest, resource: Resource): Watching;
}
