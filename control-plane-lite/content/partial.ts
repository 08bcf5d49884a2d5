/** PartialObjectMetadata: objects reduced to their metadata, in JSON and in protobuf. */
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { META_PACKAGE } from '#api/schema/registry.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { Shape } from './negotiation.ts';
import type { Source } from './source.ts';

export const PARTIAL_KIND = 'PartialObjectMetadata';
/** Both versions use the same messages. */
export const PARTIAL_TYPE: string = `${META_PACKAGE}.${PARTIAL_KIND}`;

/** `apiVersion` of Table and PartialObjectMetadata. */
export const metaApiVersion = (
  { apiGroupDomain }: Vocabulary,
  { metaVersion, metaDomain = apiGroupDomain }: Pick<Shape, 'metaVersion' | 'metaDomain'>,
): string => `meta.${metaDomain}/${metaVersion}`;

export function partialObject(object: ApiObject, apiVersion: string): ApiObject {
  return { kind: PARTIAL_KIND, apiVersion, metadata: object.metadata };
}

/** Returns the JSON of an object's metadata; cached. */
export function partialJson(source: Source, apiVersion: string): Buffer {
  return source.form(`partial ${apiVersion}`, () =>
    Buffer.from(JSON.stringify(partialObject(source.object(), apiVersion))),
  );
}

/** Returns the message of an object's metadata, without an envelope; cached. */
export function partialMessage(source: Source, protobuf: ApiProtobuf): Buffer {
  return source.form('partial protobuf', () =>
    protobuf.encodeMessage(PARTIAL_TYPE, { metadata: source.object().metadata }),
  );
}
