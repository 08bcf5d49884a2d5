/** Encodes single objects in a format that the client accepts. */

import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { ENVELOPE_TAIL, envelopeHead, type TypeMeta } from '#api/protobuf/envelope.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { isLarge, LARGE_BYTES } from '../kit/yield.ts';
import type { Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import type { Shape } from './negotiation.ts';
import { metaApiVersion, PARTIAL_KIND, partialJson, partialMessage, partialObject } from './partial.ts';
import type { Source } from './source.ts';
import { columnsJson, type IncludeObject, type TableOptions, tableOf } from './table.ts';
import { formText, formValue, indented } from './text-forms.ts';
import type { TextWriter } from './yaml-reader.ts';

export interface EncodeDeps {
  readonly vocabulary: Vocabulary;
  readonly protobuf: ApiProtobuf;
  readonly now: () => number;
  /** For large texts. */
  readonly writer: TextWriter;
}

/** Representation of the objects of one response. */
export interface Showing {
  readonly resource: Resource;
  readonly shape: Shape;
  /** Pretty-printed, with line breaks. */
  readonly pretty: boolean;
  readonly include: IncludeObject;
}

const LINE_END = Buffer.from('\n');

/** Converts JSON text to pretty-printed JSON or to YAML. */
export function reform(
  json: Buffer,
  { shape: { mediaType }, pretty }: Showing,
  writer: TextWriter,
): readonly Buffer[] | Promise<readonly Buffer[]> {
  if (mediaType === 'json' && !pretty) return [json];
  const form = mediaType === 'yaml' ? 'yaml' : 'pretty';
  const end = form === 'yaml' ? [] : [LINE_END];
  if (isLarge(json)) return writer.write(json, form).then((text) => [text, ...end]);
  return [Buffer.from(formText(json.toString('utf8'), form)), ...end];
}

/** Returns the object's own protobuf message, without an envelope; cached. */
export function messageOf(source: Source, { schema }: Resource, protobuf: ApiProtobuf): Buffer {
  const { typeRef } = schema;
  if (typeRef === undefined) throw new Error('cannot encode a kind without a protobuf form as protobuf');
  return source.form('protobuf', () => protobuf.encodeMessage(typeRef, source.object()));
}

/** Returns the kind and version for the envelope, and the message in it. */
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

/** Returns the JSON of the object in its representation. */
function jsonOf(source: Source, showing: Showing, deps: EncodeDeps): Buffer {
  const { resource, shape } = showing;
  if (shape.as === 'object') return source.json();
  if (shape.as === 'Table') return tableOf(source, tableOptions(showing, deps), columnsJson(resource));
  return partialJson(source, metaApiVersion(deps.vocabulary, shape));
}

/** Encodes an object, in chunks. */
export function encodeObject(
  source: Source,
  showing: Showing,
  deps: EncodeDeps,
): readonly Buffer[] | Promise<readonly Buffer[]> {
  const { shape } = showing;
  if (shape.mediaType === 'protobuf') {
    const [meta, message] = enveloped(source, showing, deps);
    return [envelopeHead(meta, message.length), message, ENVELOPE_TAIL];
  }
  return reform(jsonOf(source, showing, deps), showing, deps.writer);
}

/** Returns the object as text for a list item: cached only if retaining it is cheap. */
export function itemText(
  source: Source,
  showing: Showing,
  { vocabulary, writer }: EncodeDeps,
  indent: string,
): Buffer | Promise<Buffer> {
  const { shape } = showing;
  const form = shape.mediaType === 'yaml' ? 'yaml' : 'pretty';
  if (shape.as !== 'object') {
    const apiVersion = metaApiVersion(vocabulary, shape);
    if (source.bytes() >= LARGE_BYTES) return writer.write(partialJson(source, apiVersion), form, indent);
    const partial = partialObject(source.object(), apiVersion);
    return Buffer.from(indented(formValue(partial, form), indent));
  }
  if (source.bytes() >= LARGE_BYTES) return writer.write(source.json(), form, indent);
  return Buffer.from(indented(formValue(source.object(), form), indent));
}
