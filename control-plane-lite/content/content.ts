/** Content layer of the endpoints: decodes bodies to objects, and encodes objects as responses in a format
 *  that the client accepts. Source: watch events and media types, document 1 §4.5 and §4.7. */

import { writeJsonSteps } from '#api/codec/json-writer.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { finishInTurns } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { type ApiProtobuf, createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Content, PageToShow } from '../endpoints/content.ts';
import type { ApiRequest, BytesResponse } from '../http/contract.ts';
import { finishSteps, isLarge, MAX_LARGE_BODIES, turnOf } from '../kit/yield.ts';
import { isVirtual } from '../resources/builtin.ts';
import type { Resource } from '../resources/contract.ts';
import type { Outcome } from '../verbs/contract.ts';
import { createDeferredForm } from './deferred-watch.ts';
import { type EncodeDeps, encodeObject, type Showing } from './encode.ts';
import { encodeList } from './encode-list.ts';
import { loadedForm } from './loaded-form.ts';
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
import { plainSource, type Source, sourceOf, takesTime, writtenSource } from './source.ts';
import { parseIncludeObject } from './table.ts';
import { createWatchForms } from './watch-encoder.ts';
import { createYamlReader, type YamlReader } from './yaml-reader.ts';

export interface ContentDeps {
  readonly vocabulary: Vocabulary;
  /** Unix milliseconds, for ages in tables. */
  readonly now: () => number;
  readonly protobuf?: ApiProtobuf;
  readonly yaml?: YamlReader;
  /** Whether `fieldValidation` is honored; otherwise unknown fields are ignored. Default true. */
  readonly validatesFields?: boolean;
}

/** Connect kinds have no table rows: they are never listed. */
const offerOf = ({ schema, info }: Resource): Offer => ({
  protobuf: schema.typeRef === undefined ? 'metadata' : 'all',
  transforms: true,
  tables: !isVirtual(info),
});
const bodyOffer = (typeRef: string | undefined): Offer => ({
  protobuf: typeRef === undefined ? 'none' : 'all',
  transforms: false,
});

type Reading = (
  request: ApiRequest,
  validation: FieldValidation,
  duplicates: ReadOptions['duplicates'],
  words: ReadOptions['words'],
) => ReadOptions;

const readingFor =
  (validatesFields: boolean): Reading =>
  (request, validation, duplicates, words) => ({
    validation: validatesFields ? validation : 'Ignore',
    duplicates,
    warn: (text) => request.warn(text),
    ...(words === undefined ? {} : { words }),
  });

/** Returns the negotiated representation of a resource's objects.
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

/** Returns the format for the audit log besides the client's; `undefined`: none, or the very same. */
function jsonOfResponse({ wantsJson }: ApiRequest, showing: Showing): Showing | undefined {
  const { shape } = showing;
  if (wantsJson !== true || shape.mediaType === 'json') return undefined;
  return { ...showing, shape: { ...shape, mediaType: 'json' }, pretty: false };
}

/** `json`: the same response for the audit log. */
function respond(
  status: number,
  contentType: string,
  body: readonly Buffer[],
  json: readonly Buffer[] | undefined,
): BytesResponse {
  return { kind: 'bytes', status, contentType, body, ...(json === undefined ? {} : { json }) };
}

async function sourceOfOutcome(
  request: ApiRequest,
  { resource, shape }: Showing,
  { stored, object, isLarge: isLargeObject = false }: Outcome,
): Promise<Source> {
  if (stored !== undefined) {
    const form = isLarge(stored.json) ? await loadedForm(stored, resource, shape, turnOf(request)) : stored;
    return sourceOf(resource, form);
  }
  if (!isLargeObject) return plainSource(object);
  return writtenSource(object, await finishInTurns(writeJsonSteps(object), turnOf(request)));
}

/** Encodes an object as the response to a request, in a representation that the client accepts.
 *  @throws StatusError NotAcceptable */
function show(
  deps: EncodeDeps,
  request: ApiRequest,
  showing: Showing,
  status: number,
  source: Source,
): BytesResponse | Promise<BytesResponse> {
  if (showing.shape.as === 'PartialObjectMetadataList') {
    throw new StatusError(
      'NotAcceptable',
      'you requested PartialObjectMetadataList, but the requested object is not a list',
    );
  }
  const more = jsonOfResponse(request, showing);
  const json = more === undefined ? undefined : encodeObject(source, more, deps);
  const body = encodeObject(source, showing, deps);
  const type = contentTypeOf(showing.shape.mediaType, deps.vocabulary);
  if (!(body instanceof Promise) && !(json instanceof Promise)) return respond(status, type, body, json);
  return Promise.all([body, json]).then((made) => respond(status, type, ...made));
}

async function showList(
  deps: EncodeDeps,
  request: ApiRequest,
  resource: Resource,
  page: PageToShow,
): Promise<BytesResponse> {
  const showing = showingOf(request, resource, deps.vocabulary);
  const more = jsonOfResponse(request, showing);
  const turn = turnOf(request);
  const json = more === undefined ? undefined : await encodeList(page, more, deps, turn);
  const type = contentTypeOf(showing.shape.mediaType, deps.vocabulary);
  return respond(200, type, await encodeList(page, showing, deps, turn), json);
}

export function createContent(given: ContentDeps): Content {
  const { vocabulary, now } = given;
  const yaml = given.yaml ?? createYamlReader();
  const protobuf = given.protobuf ?? createApiProtobuf(vocabulary);
  const deps: EncodeDeps = { vocabulary, now, protobuf, writer: yaml };
  const readers: BodyReaders = { protobuf, yaml };
  const watchForm = createWatchForms(deps);
  const encodePlain = createPlainEncoder(deps);

  const large = createLimiter(MAX_LARGE_BODIES);
  const reading = readingFor(given.validatesFields ?? true);

  return {
    whenRoom: (request, work) => large.run(work, request.signal),
    async readObject(request, target, validation, words) {
      const format = bodyFormat(
        request.headers['content-type'],
        bodyOffer(target.schema.typeRef),
        vocabulary,
      );
      const body = await request.readBody();
      const turn = turnOf(request);
      const { value, duplicates, names } = await parseBody(body, format, target, { ...readers, turn });
      if (format !== 'json') request.noteBody?.(value);
      const inSlices = isLarge(body);
      if (inSlices) await turn();
      const options = { ...reading(request, validation, duplicates, words), names };
      return finishSteps(readObjectValue(value, target, options, inSlices), inSlices, turn);
    },
    checkObject(request, value, target, validation, { words, known, inSlices, names }) {
      const options = { ...reading(request, validation, [], words), names };
      return readPatchedValue(value, target, options, known, inSlices);
    },
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
      const turn = turnOf(request);
      const { value, duplicates, names } = await parsePatch(body, type, 'Patch', { ...readers, turn });
      if (isLarge(body)) await turn();
      if (type === 'apply') request.noteBody?.(value);
      checkDuplicates(reading(request, validation, duplicates, undefined));
      return names === undefined ? { type, value } : { type, value, names };
    },
    checkAccept(request, resource) {
      showingOf(request, resource, vocabulary, request.info.verb === 'watch');
    },
    async object(request, resource, status, made) {
      const showing = showingOf(request, resource, vocabulary);
      return show(deps, request, showing, status, await sourceOfOutcome(request, showing, made));
    },
    async cached(request, resource, entry) {
      const showing = showingOf(request, resource, vocabulary);
      const form = isLarge(entry.json)
        ? await loadedForm(entry, resource, showing.shape, turnOf(request))
        : entry;
      const source = sourceOf(resource, form);
      return show(deps, request, showing, 200, source instanceof Promise ? await source : source);
    },
    plain: (request, status, object) => ({ kind: 'bytes', status, ...encodePlain(request, object) }),
    list: (request, resource, page) => showList(deps, request, resource, page),
    watching(request, resource) {
      const showing = showingOf(request, resource, vocabulary, true);
      const contentType = contentTypeOf(showing.shape.mediaType, vocabulary, true);
      // A line is an event, so it must not contain line breaks.
      const form = watchForm({ ...showing, pretty: false });
      return { ...(takesTime(resource) ? createDeferredForm(resource, form) : form), contentType };
    },
  };
}
