/** Discovery documents in the representations that clients accept. */

import { formatYaml } from '#api/codec/yaml.ts';
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { contentTypeOf, type MediaType, negotiate, type Offer, wantsPretty } from '../content/negotiation.ts';
import type { ApiRequest, BytesResponse } from '../http/contract.ts';
import { type Kept, kept, respondKept } from './etag.ts';

export interface Document {
  readonly kind?: string;
  readonly apiVersion?: string;
}

export interface FormsDeps {
  readonly vocabulary: Vocabulary;
  readonly protobuf: ApiProtobuf;
}

export interface Forms {
  /** Responds with the named document in a representation that the request accepts. Calls `make` once for each
   *  representation until `clear`. @throws StatusError NotAcceptable */
  respond(request: ApiRequest, name: string, make: () => Document): BytesResponse;
  /** Responds with the document as JSON under this content type. */
  respondJson(request: ApiRequest, name: string, contentType: string, make: () => object): BytesResponse;
  clear(): void;
}

const OFFER: Offer = { protobuf: 'all', transforms: false };

export function createForms({ vocabulary, protobuf }: FormsDeps): Forms {
  const made = new Map<string, Kept>();

  function bytesOf({ kind = '', apiVersion = '', ...rest }: Document, mediaType: MediaType): Buffer {
    const document = { kind, apiVersion, ...rest };
    switch (mediaType) {
      case 'json':
        return Buffer.from(JSON.stringify(document));
      case 'yaml':
        return Buffer.from(formatYaml(document));
      case 'protobuf':
        return protobuf.encode(document);
      default:
        return mediaType satisfies never;
    }
  }

  function remembered(key: string, make: () => Kept): Kept {
    const known = made.get(key);
    if (known !== undefined) return known;
    const result = make();
    made.set(key, result);
    return result;
  }

  return {
    respond(request, name, make) {
      const { mediaType, pretty } = negotiate(request.headers.accept, OFFER, vocabulary);
      const contentType = contentTypeOf(mediaType, vocabulary);
      const key = `${mediaType} ${name}`;
      if (mediaType === 'json' && (pretty || wantsPretty(request.query, request.headers['user-agent']))) {
        const body = Buffer.from(`${JSON.stringify(make(), null, 2)}\n`);
        return respondKept(request, kept(contentType, body));
      }
      return respondKept(
        request,
        remembered(key, () => kept(contentType, bytesOf(make(), mediaType))),
      );
    },
    respondJson(request, name, contentType, make) {
      return respondKept(
        request,
        remembered(`as ${contentType} ${name}`, () => kept(contentType, Buffer.from(JSON.stringify(make())))),
      );
    },
    clear: () => made.clear(),
  };
}
