/** Responses that are not objects of a resource: a Status, a Scale, a review, discovery documents. They have
 *  a single representation, whatever else the client requests. */

import { formatYaml } from '#api/codec/yaml.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { TypeMeta } from '#api/protobuf/envelope.ts';
import type { ApiRequest } from '../http/contract.ts';
import type { EncodeStatus } from '../http/response/status-response.ts';
import type { EncodeDeps } from './encode.ts';
import { contentTypeOf, type MediaType, negotiate, type Offer, wantsPretty } from './negotiation.ts';
import { prettyJson } from './text-forms.ts';

export interface PlainResponse {
  readonly contentType: string;
  readonly body: Buffer;
  /** The same as JSON, if the format differs and the audit log needs it. */
  readonly json?: Buffer;
}

/** Nothing of these is large. */
type PlainDeps = Omit<EncodeDeps, 'writer'>;

type Reader = Pick<ApiRequest, 'headers' | 'query' | 'wantsJson'>;

type Typed = Readonly<Record<string, unknown>> & TypeMeta;

const isTyped = (object: object): object is Typed =>
  'kind' in object &&
  'apiVersion' in object &&
  typeof object.kind === 'string' &&
  typeof object.apiVersion === 'string';

function textOf(object: object, mediaType: MediaType, pretty: boolean): string {
  if (mediaType === 'yaml') return formatYaml(object);
  return pretty ? `${prettyJson(object)}\n` : JSON.stringify(object);
}

/** @throws StatusError NotAcceptable, on each call */
export function createPlainEncoder({
  vocabulary,
  protobuf,
}: PlainDeps): (request: Reader, object: object) => PlainResponse {
  return ({ headers, query, wantsJson }, object) => {
    const typed = isTyped(object) && protobuf.typeRefOf(object) !== undefined ? object : undefined;
    const offer: Offer = { protobuf: typed === undefined ? 'none' : 'all', transforms: true };
    const { mediaType, pretty } = negotiate(headers.accept, offer, vocabulary);
    const contentType = contentTypeOf(mediaType, vocabulary);
    const isMore = wantsJson === true && mediaType !== 'json';
    const json = isMore ? { json: Buffer.from(JSON.stringify(object)) } : {};
    if (mediaType === 'protobuf' && typed !== undefined)
      return { contentType, body: protobuf.encode(typed), ...json };
    const forPeople = pretty || wantsPretty(query, headers['user-agent']);
    return { contentType, body: Buffer.from(textOf(object, mediaType, forPeople)), ...json };
  };
}

/** Encodes failures in a format that the client accepts, in JSON if there is none. */
export function createStatusEncoder(deps: PlainDeps): EncodeStatus {
  const encode = createPlainEncoder(deps);
  const query = new URLSearchParams();
  return (status, accept) => {
    const whole = { kind: 'Status', apiVersion: 'v1', ...status };
    try {
      return encode({ headers: accept === undefined ? {} : { accept }, query, wantsJson: true }, whole);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return encode({ headers: {}, query }, whole);
    }
  };
}
