/** What the endpoints need of content: bodies as objects, and objects as answers in the form that a client takes.
 *  Source: document 1, 4.5 and 4.7. */

import { type ApiProtobuf, createApiProtobuf } from '#api/codec/api-protobuf.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Content } from '../endpoints/content.ts';
import type { ApiRequest, BytesResponse } from '../http/contract.ts';
import { isVirtual } from '../resources/builtin.ts';
import type { Resource } from '../resources/contract.ts';
import { betweenTurns, isLarge, yieldToEventLoop } from '../verbs/yield.ts';
import { createDeferredForm } from './deferred-watch.ts';
import { type EncodeDeps, encodeObject, type Showing } from './encode.ts';
import { encodeList } from './encode-list.ts';
import { bodyFormat, contentTypeOf, negotiate, type Offer, wantsPretty } from './negotiation.ts';
import { readOptionsValue } from './options-body.ts';
import { type BodyReaders, parseBody } from './parse-body.ts';
import { parsePatch, patchTypeOf } from './patch-body.ts';
import { createPlainEncoder } from './plain.ts';
import {
  checkDuplicates,
  type FieldValidation,
  type ReadOptions,
  readObjectValue,
  readPatchedValue,
} from './read-body.ts';
import { plainSource, type Source, sourceOf, takesTime } from './source.ts';
import { parseIncludeObject } from './table.ts';
import { createWatchForms } from './watch-encoder.ts';
import { createYamlReader, type YamlReader } from './yaml-reader.ts';

export interface ContentDeps {
  readonly vocabulary: Vocabulary;
  /** Unix milliseconds, for ages in tables. */
  readonly now: () => number;
  readonly protobuf?: ApiProtobuf;
  readonly yaml?: YamlReader;
}

/** Operations have no rows: nothing of them is ever listed. */
const offerOf = ({ schema, info }: Resource): Offer => ({
  protobuf: schema.typeRef === undefined ? 'metadata' : 'all',
  transforms: true,
  tables: !isVirtual(info),
});
const bodyOffer = (typeRef: string | undefined): Offer => ({
  protobuf: typeRef === undefined ? 'none' : 'all',
  transforms: false,
});

const reading = (
  request: ApiRequest,
  validation: FieldValidation,
  duplicates: ReadOptions['duplicates'],
  words: ReadOptions['words'],
): ReadOptions => ({
  validation,
  duplicates,
  warn: (text) => request.warn(text),
  ...(words === undefined ? {} : { words }),
});

/** What a resource's objects look like to the client of a request.
 *  @throws StatusError NotAcceptable, BadRequest */
function showingOf(
  { headers, query }: ApiRequest,
  resource: Resource,
  vocabulary: Vocabulary,
  watch = false,
): Showing {
  const shape = negotiate(headers.accept, offerOf(resource), vocabulary, watch);
  const pretty = shape.mediaType === 'json' && (shape.pretty || wantsPretty(query, headers['user-agent']));
  const include = shape.as === 'Table' ? parseIncludeObject(query) : 'Metadata';
  return { resource, shape, pretty, include };
}

/** The form that the audit log gets beside the client's; `undefined`: none, or the very same. */
function jsonOfAnswer({ wantsJson }: ApiRequest, showing: Showing): Showing | undefined {
  const { shape } = showing;
  if (wantsJson !== true || shape.mediaType === 'json') return undefined;
  return { ...showing, shape: { ...shape, mediaType: 'json' }, pretty: false };
}

/** `json`: the same for the audit log. */
function answer(
  status: number,
  contentType: string,
  body: readonly Buffer[],
  json: readonly Buffer[] | undefined,
): BytesResponse {
  return { kind: 'bytes', status, contentType, body, ...(json === undefined ? {} : { json }) };
}

export function createContent(given: ContentDeps): Content {
  const { vocabulary, now } = given;
  const deps: EncodeDeps = { vocabulary, now, protobuf: given.protobuf ?? createApiProtobuf(vocabulary) };
  const readers: BodyReaders = { protobuf: deps.protobuf, yaml: given.yaml ?? createYamlReader() };
  const watchForm = createWatchForms(deps);
  const encodePlain = createPlainEncoder(deps);

  const typeOf = ({ shape }: Showing): string => contentTypeOf(shape.mediaType, vocabulary);

  function show(request: ApiRequest, resource: Resource, status: number, source: Source): BytesResponse {
    const showing = showingOf(request, resource, vocabulary);
    if (showing.shape.as === 'PartialObjectMetadataList') {
      throw new StatusError(
        'NotAcceptable',
        'you requested PartialObjectMetadataList, but the requested object is not a list',
      );
    }
    const more = jsonOfAnswer(request, showing);
    const json = more === undefined ? undefined : encodeObject(source, more, deps);
    return answer(status, typeOf(showing), encodeObject(source, showing, deps), json);
  }

  return {
    async readObject(request, target, validation, words) {
      const format = bodyFormat(
        request.headers['content-type'],
        bodyOffer(target.schema.typeRef),
        vocabulary,
      );
      const body = await request.readBody();
      const { value, duplicates } = await parseBody(body, format, target, readers);
      if (format !== 'json') request.noteBody?.(value);
      const read = () => readObjectValue(value, target, reading(request, validation, duplicates, words));
      return isLarge(body) ? betweenTurns(read) : read();
    },
    checkObject: (request, value, target, validation, words, known) =>
      readPatchedValue(value, target, reading(request, validation, [], words), known),
    async readOptions(request, kind) {
      const body = await request.readBody();
      if (body.length === 0) return undefined;
      const format = bodyFormat(request.headers['content-type'], bodyOffer(kind), vocabulary);
      const { value } = await parseBody(body, format, { apiVersion: 'v1', kind }, readers);
      if (format !== 'json') request.noteBody?.(value);
      return readOptionsValue(value, kind, vocabulary);
    },
    async readPatch(request, validation, resource) {
      const isCustom = resource !== undefined && resource.schema.typeRef === undefined;
      const type = patchTypeOf(request.headers['content-type'], isCustom);
      const body = await request.readBody();
      const { value, duplicates } = await parsePatch(body, type, 'Patch', readers);
      if (isLarge(body)) await yieldToEventLoop();
      if (type === 'apply') request.noteBody?.(value);
      checkDuplicates(reading(request, validation, duplicates, undefined));
      return { type, value };
    },
    checkAccept(request, resource) {
      showingOf(request, resource, vocabulary, request.info.verb === 'watch');
    },
    async object(request, resource, status, { stored, object }) {
      const source = stored === undefined ? plainSource(object) : await sourceOf(resource, stored);
      if (stored !== undefined && isLarge(stored.json)) await yieldToEventLoop();
      return show(request, resource, status, source);
    },
    async cached(request, resource, entry) {
      const source = sourceOf(resource, entry);
      return show(request, resource, 200, source instanceof Promise ? await source : source);
    },
    plain: (request, status, object) => ({ kind: 'bytes', status, ...encodePlain(request, object) }),
    async list(request, resource, page) {
      const showing = showingOf(request, resource, vocabulary);
      const more = jsonOfAnswer(request, showing);
      const json = more === undefined ? undefined : await encodeList(page, more, deps);
      return answer(200, typeOf(showing), await encodeList(page, showing, deps), json);
    },
    watching(request, resource) {
      const showing = showingOf(request, resource, vocabulary, true);
      const contentType = contentTypeOf(showing.shape.mediaType, vocabulary, true);
      // Lines are events: no line breaks in them.
      const form = watchForm({ ...showing, pretty: false });
      return { ...(takesTime(resource) ? createDeferredForm(resource, form) : form), contentType };
    },
  };
}
