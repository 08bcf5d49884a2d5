/** Single objects in the form that a client takes. */

import { ENVELOPE_TAIL, envelopeHead, type TypeMeta } from '#api/codec/api-protobuf/envelope.ts';
import type { ApiProtobuf } from '#api/codec/api-protobuf.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { formatYaml } from '#api/codec/yaml.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import type { MediaType, Shape } from './negotiation.ts';
import { metaApiVersion, PARTIAL_KIND, partialJson, partialMessage, partialObject } from './partial.ts';
import type { Source } from './source.ts';
import { columnsJson, type IncludeObject, type TableOptions, tableOf } from './table.ts';

export interface EncodeDeps {
  readonly vocabulary: Vocabulary;
  readonly protobuf: ApiProtobuf;
  readonly now: () => number;
}

/** How the objects of one answer are shown. */
export interface Showing {
  readonly resource: Resource;
  readonly shape: Shape;
  /** For people: with line breaks. */
  readonly pretty: boolean;
  readonly include: IncludeObject;
}

export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2);

/** JSON text to be read by people, or as another text form. */
export function reform(json: Buffer, mediaType: MediaType, pretty: boolean): Buffer {
  if (mediaType === 'json' && !pretty) return json;
  const value: unknown = parseJsonText(json.toString('utf8'));
  return Buffer.from(mediaType === 'yaml' ? formatYaml(value) : `${prettyJson(value)}\n`);
}

/** The object's own message, without an envelope; remembered. */
export function messageOf(source: Source, { schema }: Resource, protobuf: ApiProtobuf): Buffer {
  const { typeRef } = schema;
  if (typeRef === undefined) throw new Error('a kind without a protobuf form was to be sent as protobuf');
  return source.form('protobuf', () => protobuf.encodeMessage(typeRef, source.object()));
}

/** What the envelope says, and the message in it. */
export function enveloped(
  source: Source,
  { resource, shape }: Showing,
  { protobuf, vocabulary }: EncodeDeps,
): readonly [TypeMeta, Buffer] {
  if (shape.as === 'object') {
    const { kind } = resource.info;
    return [{ apiVersion: apiVersionOf(resource.info), kind }, messageOf(source, resource, protobuf)];
  }
  const apiVersion = metaApiVersion(vocabulary, shape);
  return [{ apiVersion, kind: PARTIAL_KIND }, partialMessage(source, protobuf)];
}

export function tableOptions({ resource, shape, include }: Showing, deps: EncodeDeps): TableOptions {
  const { vocabulary, now } = deps;
  return {
    resource,
    vocabulary,
    include,
    apiVersion: metaApiVersion(vocabulary, shape),
    nowMs: now(),
  };
}

/** JSON of the object as the shape has it. */
function jsonOf(source: Source, showing: Showing, deps: EncodeDeps): Buffer {
  const { resource, shape } = showing;
  if (shape.as === 'object') return source.json();
  if (shape.as === 'Table') return tableOf(source, tableOptions(showing, deps), columnsJson(resource));
  return partialJson(source, metaApiVersion(deps.vocabulary, shape));
}

/** An object, in pieces. */
export function encodeObject(source: Source, showing: Showing, deps: EncodeDeps): readonly Buffer[] {
  const { shape, pretty } = showing;
  if (shape.mediaType === 'protobuf') {
    const [meta, message] = enveloped(source, showing, deps);
    return [envelopeHead(meta, message.length), message, ENVELOPE_TAIL];
  }
  return [reform(jsonOf(source, showing, deps), shape.mediaType, pretty)];
}

/** The object itself as text for people, as an item of a list is: remembered only where it is cheap to keep. */
export function itemText(source: Source, showing: Showing, deps: EncodeDeps): string {
  const { shape } = showing;
  const object =
    shape.as === 'object'
      ? source.object()
      : partialObject(source.object(), metaApiVersion(deps.vocabulary, shape));
  return shape.mediaType === 'yaml' ? formatYaml(object) : prettyJson(object);
}
