/** The form in which objects go over the wire: JSON, or protobuf for the types that have it. What the server refuses
 *  in protobuf is sent and asked for in JSON from then on, for a while: the server may be another one later.
 *  Source: document 1, 2.6 and 4.7. */
import type { ApiProtobuf } from '#api/codec/api-protobuf.ts';
import { ProtobufError } from '#api/codec/protobuf/error.ts';
import type { Clock } from '#api/kit/clock.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { JsonObject } from './object-fields.ts';
import type { ResourceAddress } from './resource-path.ts';

export interface WireForm {
  /** Media type of protobuf, in both directions. */
  readonly contentType: string;
  readonly codec: ApiProtobuf;
}

export interface WireBody {
  readonly contentType: string;
  readonly bytes: string | Buffer;
}

export const JSON_TYPE = 'application/json';
/** How long a refusal counts. */
const REFUSAL_MS = 10 * 60_000;

/** The media type without its parameters, in lower case. */
export function bareType(contentType: string | readonly string[] | undefined): string {
  const text = typeof contentType === 'string' ? contentType : (contentType?.[0] ?? '');
  return text.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Whether a media type means the messages that we read: they are the same in both vocabularies. */
export const isProtobufType = (contentType: string | readonly string[] | undefined): boolean =>
  Object.values<Vocabulary>(VOCABULARIES).some(
    ({ protobufContentType }) => protobufContentType === bareType(contentType),
  );

/** What a resource is remembered by. */
export const resourceKey = ({ apiVersion, resource }: ResourceAddress): string => `${apiVersion} ${resource}`;

export interface WireForms {
  /** Value of the Accept header. */
  accept(resource: string): string;
  encode(resource: string, object: JsonObject): WireBody;
  /** Whether requests for this resource are of protobuf, so that JSON is worth a try. */
  isProtobuf(resource: string): boolean;
  /** Takes note that the server, or we, could not do with protobuf. */
  refused(resource: string): void;
}

const jsonBody = (object: JsonObject): WireBody => ({
  contentType: JSON_TYPE,
  bytes: JSON.stringify(object),
});

/** @param form undefined for a client that speaks nothing but JSON */
export function createWireForms(
  { monotonic }: Pick<Clock, 'monotonic'>,
  form: WireForm | undefined,
): WireForms {
  /** The API has not so many resources that this would have to be bounded. */
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

/** Undefined for an object that has no protobuf form. */
function protobufBody({ codec, contentType }: WireForm, object: JsonObject): WireBody | undefined {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined;
  if (codec.typeRefOf({ apiVersion, kind }) === undefined) return undefined;
  try {
    return { contentType, bytes: codec.encode({ ...object, apiVersion, kind }) };
  } catch (thrown) {
    // JSON has more spellings of one value, such as a number for a quantity; the server reads them all.
    if (thrown instanceof ProtobufError) return undefined;
    throw thrown;
  }
}
