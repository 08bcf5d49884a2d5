/** Encodes watch events. Encoders of equal `id` produce equal bytes, so that the cache encodes them once for
 *  all watchers. Source: watch events, document 1 §2.3, §4.5 and §6. */

import { parseJsonText } from '#api/codec/json-text.ts';
import { formatYaml } from '#api/codec/yaml.ts';
import { ENVELOPE_TAIL, envelopeHead, watchFrame, wrapMessage } from '#api/protobuf/envelope.ts';
import type { EventEncoder, WatchEventType } from '../cache/contract.ts';
import type { ApiObject } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import { type EncodeDeps, enveloped, type Showing, tableOptions } from './encode.ts';
import { metaApiVersion, PARTIAL_KIND, PARTIAL_TYPE, partialJson } from './partial.ts';
import { type Source, sourceNow } from './source.ts';
import { columnsJson, TABLE_TAIL, tableHead, tableOf } from './table.ts';
import { prettyJson } from './text-forms.ts';

/** The parts of an event around its object. */
type EventType = WatchEventType | 'BOOKMARK' | 'ERROR';

const headOf = (type: EventType): Buffer => Buffer.from(`{"type":"${type}","object":`);
const HEADS: Readonly<Record<EventType, Buffer>> = {
  ADDED: headOf('ADDED'),
  MODIFIED: headOf('MODIFIED'),
  DELETED: headOf('DELETED'),
  BOOKMARK: headOf('BOOKMARK'),
  ERROR: headOf('ERROR'),
};
const CLOSING_BRACE = 0x7d;
const NEWLINE = 0x0a;

/** Wraps the object's bytes in `{"type":"ADDED","object":…}` and a line feed. */
export function jsonEvent(type: EventType, object: Buffer): Buffer {
  const head = HEADS[type];
  const event = Buffer.allocUnsafe(head.length + object.length + 2);
  head.copy(event);
  object.copy(event, head.length);
  event[event.length - 2] = CLOSING_BRACE;
  event[event.length - 1] = NEWLINE;
  return event;
}

/** An encoder, with the events of the endpoint itself. */
export interface WatchForm {
  readonly encoder: EventEncoder;
  /** Returns an event of an object that is already in the client's version. */
  event(type: WatchEventType, source: Source): Buffer;
  /** Bytes of an ERROR event. */
  error(status: object): Buffer;
  /** Whether messages are binary. */
  readonly binary: boolean;
}

/** The annotation of the bookmark after the last synthetic event. */
const initialEndKey = (domain: string): string => `${domain}/initial-events-end`;

/** Creates encoders; `unique` numbers those with a state of their own. */
export function createWatchForms(deps: EncodeDeps): (showing: Showing) => WatchForm {
  let unique = 0;
  return (showing) => {
    const { shape } = showing;
    unique += 1;
    if (shape.as === 'Table') return textForm(showing, tableObjects(showing, deps), `#${unique}`);
    return shape.mediaType === 'protobuf'
      ? protobufForm(showing, deps)
      : textForm(showing, plainObjects(showing, deps), '');
  };
}

function idOf({ resource, shape, include, pretty }: Showing, own: string): string {
  const { group, plural } = resource.info;
  const form = `${shape.mediaType} ${shape.as} ${shape.metaVersion} ${shape.metaDomain ?? ''} ${include} ${pretty ? 'pretty' : ''}`;
  const conversion = resource.conversion?.id ?? '';
  return `${group} ${apiVersionOf(resource.info)} ${plural} ${conversion} ${form}${own}`;
}

/** Returns the object of a bookmark: only the revision and the annotation. */
function bookmarkObject(
  meta: { readonly kind: string; readonly apiVersion: string },
  revision: number,
  initialEnd: boolean,
  { vocabulary }: EncodeDeps,
): ApiObject {
  const annotations = { [initialEndKey(vocabulary.apiGroupDomain)]: 'true' };
  return {
    kind: meta.kind,
    apiVersion: meta.apiVersion,
    metadata: { resourceVersion: String(revision), ...(initialEnd ? { annotations } : {}) },
  };
}

function shownMeta(
  { resource, shape }: Showing,
  { vocabulary }: EncodeDeps,
): { readonly kind: string; readonly apiVersion: string } {
  if (shape.as === 'object') return { kind: resource.info.kind, apiVersion: apiVersionOf(resource.info) };
  return { kind: PARTIAL_KIND, apiVersion: metaApiVersion(vocabulary, shape) };
}

/** Returns the JSON of the objects in a text watch. */
interface TextObjects {
  of(source: Source): Buffer;
  bookmark(revision: number, initialEnd: boolean): Buffer;
}

function plainObjects(showing: Showing, deps: EncodeDeps): TextObjects {
  const { shape } = showing;
  const meta = shownMeta(showing, deps);
  return {
    of: (source) => (shape.as === 'object' ? source.json() : partialJson(source, meta.apiVersion)),
    bookmark: (revision, initialEnd) =>
      Buffer.from(JSON.stringify(bookmarkObject(meta, revision, initialEnd, deps))),
  };
}

/** The first table of a watch contains the column definitions; the later ones omit them. */
function tableObjects(showing: Showing, deps: EncodeDeps): TextObjects {
  const { resource, shape } = showing;
  const apiVersion = metaApiVersion(deps.vocabulary, shape);
  let columns = columnsJson(resource);
  const nextColumns = (): string => {
    const now = columns;
    columns = 'null';
    return now;
  };
  return {
    of: (source) => tableOf(source, tableOptions(showing, deps), nextColumns()),
    bookmark(revision, initialEnd) {
      const { metadata } = bookmarkObject({ kind: '', apiVersion: '' }, revision, initialEnd, deps);
      const row = { cells: [], object: { kind: PARTIAL_KIND, apiVersion, metadata } };
      const head = tableHead(apiVersion, { resourceVersion: String(revision) }, nextColumns());
      // No rows, but the end of the initial events has to be reported.
      return Buffer.from(`${head}${initialEnd ? JSON.stringify(row) : ''}${TABLE_TAIL}`);
    },
  };
}

function textForm(showing: Showing, objects: TextObjects, own: string): WatchForm {
  const { resource, shape } = showing;
  const { mediaType } = shape;
  const frame = (type: EventType, object: Buffer): Buffer => {
    if (mediaType === 'json' && !showing.pretty) return jsonEvent(type, object);
    const value = { type, object: parseJsonText(object.toString('utf8')) };
    return Buffer.from(mediaType === 'yaml' ? `---\n${formatYaml(value)}` : `${prettyJson(value)}\n`);
  };
  return {
    binary: false,
    error: (status) => frame('ERROR', Buffer.from(JSON.stringify(status))),
    event: (type, source) => frame(type, objects.of(source)),
    encoder: {
      id: idOf(showing, own),
      encode: (type, cached) => frame(type, objects.of(sourceNow(resource, cached))),
      bookmark: (revision, initialEnd) => frame('BOOKMARK', objects.bookmark(revision, initialEnd)),
    },
  };
}

function protobufForm(showing: Showing, deps: EncodeDeps): WatchForm {
  const { resource, shape } = showing;
  const { protobuf } = deps;
  const typeRef = shape.as === 'object' ? resource.schema.typeRef : PARTIAL_TYPE;
  if (typeRef === undefined) throw new Error('cannot watch a kind without a protobuf form as protobuf');
  const event = (type: WatchEventType, source: Source): Buffer => {
    const [meta, message] = enveloped(source, showing, deps);
    return watchFrame(type, Buffer.concat([envelopeHead(meta, message.length), message, ENVELOPE_TAIL]));
  };
  return {
    binary: true,
    error: (status) => watchFrame('ERROR', statusEnvelope(status, deps)),
    event,
    encoder: {
      id: idOf(showing, ''),
      encode: (type, cached) => event(type, sourceNow(resource, cached)),
      bookmark(revision, initialEnd) {
        const object = bookmarkObject(shownMeta(showing, deps), revision, initialEnd, deps);
        return watchFrame('BOOKMARK', wrapMessage(object, protobuf.encodeMessage(typeRef, object)));
      },
    },
  };
}

const statusEnvelope = (status: object, { protobuf }: EncodeDeps): Buffer =>
  protobuf.encode({ ...status, kind: 'Status', apiVersion: 'v1' });
