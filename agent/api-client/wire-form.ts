/** Encoding of objects on the wire: JSON, or protobuf for types that support it. If the server rejects
 *  protobuf for a resource, JSON is used for a while: the server may be upgraded later.
 *  Source: content negotiation, document 1 §2.6 and §4.7. */

import { ProtobufError } from '#api/codec/protobuf/error.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { JsonObject } from './object-fields.ts';
import type { ResourceAddress } from './resource-path.ts';

export interface WireForm {
  /** Media type of protobuf, for requests and responses. */
  readonly contentType: string;
  readonly codec: ApiProtobuf;
}

export interface WireBody {
  readonly contentType: string;
  readonly bytes: string | Buffer;
}

export const JSON_TYPE = 'application/json';
/** Time for which a rejection of protobuf is remembered. */
const REFUSAL_MS = 10 * 60_000;

/** Returns the media type without its parameters, in lower case. */
function bareType(contentType: string | readonly string[] | undefined): string {
  const text = typeof contentType === 'string' ? contentType : (contentType?.[0] ?? '');
  return text.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Reports whether a media type is protobuf: the messages are the same in both vocabularies. */
export const isProtobufType = (contentType: string | readonly string[] | undefined): boolean =>
  Object.values<Vocabulary>(VOCABULARIES).some(
    ({ protobufContentType }) => protobufContentType === bareType(contentType),
  );

/** Returns the key for remembering rejections. */
export const resourceKey = ({ apiVersion, resource }: ResourceAddress): string => `${apiVersion} ${resource}`;

export interface WireForms {
  /** Value of the Accept header. */
  accept(resource: string): string;
  encode(resource: string, object: JsonObject): WireBody;
  /** Reports whether requests for this resource use protobuf, so that JSON is an alternative. */
  isProtobuf(resource: string): boolean;
  /** Records that the server or this client cannot use protobuf for a resource. */
  refused(resource: string): void;
}

const jsonBody = (object: JsonObject): WireBody => ({
  contentType: JSON_TYPE,
  bytes: JSON.stringify(object),
});

/** @param form undefined for a client that supports only JSON */
export function createWireForms(
  { monotonic }: Pick<Clock, 'monotonic'>,
  form: WireForm | undefined,
): WireForms {
  /** Unbounded: an API has few resources. */
  const refusedUntilMs = new Map<string, number>();
  const isProtobuf = (resource: string): boolean =>
    form !== undefined && monotonic() >= (refusedUntilMs.get(resource) ?? Number.NEGATIVE_INFINITY);
  return {
    isProtobuf,
    accept: (resource) =>
      form !== undefined && isProtobuf(resource) ? `${form.contentType}, ${JSON_TYPE}` : JSON_TYPE,
    encode(resource, object) {
      if (form === undefined || !isProtobuf(resource)) return jsonBody(object);
      return protobufBody(form, object) ?? jsonBody(object);
    },
    refused: (resource) => void refusedUntilMs.set(resource, monotonic() + REFUSAL_MS),
  };
}

/** Returns undefined for an object without a protobuf form. */
function protobufBody({ codec, contentType }: WireForm, object: JsonObject): WireBody | undefined {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined;
  if (codec.typeRefOf({ apiVersion, kind }) === undefined) return undefined;
  try {
    return { contentType, bytes: codec.encode({ ...object, apiVersion, kind }) };
  } catch (thrown) {
    // JSON has more representations of a value, such as a number for a quantity; the server accepts them all.
    if (thrown instanceof ProtobufError) return undefined;
    throw thrown;
  }
}
