/** Responses of `/openapi/v2`, `/openapi/v3` and the paths below it. */
import { createHash } from 'node:crypto';
import { StatusError } from '#api/meta/status-error.ts';
import { matches, parseAccept } from '../content/negotiation.ts';
import { kept, respondKept } from '../discovery/etag.ts';
import type { ApiRequest, BytesResponse } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import type { OpenApiDeps } from './deps.ts';
import { outline2, outline3 } from './documents.ts';
import { createFingerprint, type Fingerprint } from './fingerprints.ts';
import { jsonPieces } from './json-pieces.ts';
import { mergeExtracts, type OtherDocuments } from './others.ts';
import { protobufPieces } from './protobuf-pieces.ts';
import { createDocumentStore } from './store.ts';

/** Handlers of `/openapi/v2`, and of `/openapi/v3` with the paths below it. */
export interface Responses {
  readonly version2: (request: ApiRequest) => Promise<BytesResponse>;
  readonly version3: (request: ApiRequest) => Promise<BytesResponse>;
}

const JSON_TYPE = 'application/json';
/** Type that clients request, and its valid form. */
const REQUESTED_PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** Returns the first of these types that the client accepts. @throws StatusError NotAcceptable */
function negotiate({ headers }: ApiRequest, offered: readonly string[]): string {
  for (const clause of parseAccept(headers.accept ?? '*/*')) {
    const found = offered.find((type) => matches(clause, type.toLowerCase()));
    if (found !== undefined) return found;
  }
  throw new StatusError(
    'NotAcceptable',
    `only the following media types are accepted: ${offered.join(', ')}`,
  );
}

/** `api/v1`, `apis/apps/v1` */
const documentPath = ({ info }: Resource): string =>
  `${info.group === '' ? 'api' : 'apis'}/${apiVersionOf(info)}`;

interface Document3 {
  /** Empty if an aggregated server serves the document. */
  readonly resources: readonly Resource[];
  readonly hash: string;
}

const NO_OTHERS: OtherDocuments = {
  generation: 0,
  extracts: () => [],
  documents3: () => new Map(),
  fetch3: () => Promise.reject(new Error('no aggregated server is registered')),
};

/** Returns the current documents by path; computed again only after a change. */
function createIndex(registry: OpenApiDeps['registry'], fingerprint: Fingerprint, others: OtherDocuments) {
  let generation = '';
  let documents: Promise<ReadonlyMap<string, Document3>> | undefined;

  async function count(): Promise<ReadonlyMap<string, Document3>> {
    const byPath = new Map<string, Resource[]>();
    for (const resource of registry.all()) {
      const path = documentPath(resource);
      const listed = byPath.get(path) ?? [];
      byPath.set(path, listed);
      listed.push(resource);
    }
    const counted = new Map<string, Document3>();
    const theirs = others.documents3();
    for (const path of [...new Set([...byPath.keys(), ...theirs.keys()])].toSorted()) {
      const resources = byPath.get(path) ?? [];
      const hash = resources.length === 0 ? theirs.get(path)?.hash : await fingerprint(resources);
      if (hash !== undefined) counted.set(path, { resources, hash });
    }
    return counted;
  }

  return (): Promise<ReadonlyMap<string, Document3>> => {
    const now = `${registry.generation}/${others.generation}`;
    if (documents === undefined || generation !== now) {
      generation = now;
      documents = count();
    }
    return documents;
  };
}

const EMPTY = Buffer.alloc(0);
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const urlOf = (path: string, hash: string): string => `/openapi/v3/${path}?hash=${hash}`;

export function createResponses({
  vocabulary,
  registry,
  product,
  enums = true,
  others = NO_OTHERS,
}: OpenApiDeps): Responses {
  const fingerprint = createFingerprint({
    program: `${product} ${vocabulary.name}${enums ? '' : ' without enums'}`,
  });
  const index = createIndex(registry, fingerprint, others);
  const store = createDocumentStore();

  async function respond2(request: ApiRequest): Promise<BytesResponse> {
    const type = negotiate(request, [JSON_TYPE, REQUESTED_PROTOBUF, PROTOBUF_TYPE]);
    const described = { resources: registry.all(), enums };
    const extracts = others.extracts();
    const own = await fingerprint(described.resources);
    const hash = extracts.length === 0 ? own : hashOf([own, ...extracts.map((each) => each.hash)].join());
    const outline = (): ReturnType<typeof outline2> =>
      outline2(described, vocabulary, extracts.length === 0 ? undefined : mergeExtracts(extracts));
    if (type === JSON_TYPE) {
      return store.respond(request, {
        key: 'v2',
        hash,
        contentType: type,
        make: () => jsonPieces(outline()),
      });
    }
    return store.respond(request, {
      key: 'v2 protobuf',
      hash: `${hash}-protobuf`,
      contentType: PROTOBUF_TYPE,
      make: () => protobufPieces(outline()),
    });
  }

  function respondIndex(request: ApiRequest, documents: ReadonlyMap<string, Document3>): BytesResponse {
    const paths = Object.fromEntries(
      [...documents].map(([path, { hash }]) => [path, { serverRelativeURL: urlOf(path, hash) }] as const),
    );
    const body = Buffer.from(JSON.stringify({ paths }));
    return respondKept(request, kept(JSON_TYPE, body));
  }

  async function respond3(request: ApiRequest): Promise<BytesResponse> {
    negotiate(request, [JSON_TYPE]);
    const documents = await index();
    store.retain(new Set(['v2', 'v2 protobuf', ...documents.keys()]));
    const path = request.info.path.split('/').slice(3).join('/').replace(/\/$/, '');
    if (path === '') return respondIndex(request, documents);
    const found = documents.get(path);
    if (found === undefined) {
      throw new StatusError('NotFound', 'the server could not find the requested resource');
    }
    const { hash, resources } = found;
    const expected = request.query.get('hash');
    if (expected !== null && expected !== hash) return moved(urlOf(path, hash));
    const wanted = { key: path, hash, contentType: JSON_TYPE, forever: expected !== null };
    if (resources.length > 0) {
      const make = (): Iterable<string> => jsonPieces(outline3({ resources, enums }, vocabulary));
      return store.respond(request, { ...wanted, make });
    }
    // Fetched before the build queue: other documents do not wait for an aggregated server.
    const body = store.has(wanted) ? EMPTY : await others.fetch3(path);
    return store.respond(request, { ...wanted, make: () => [body] });
  }

  return { version2: respond2, version3: respond3 };
}

/** The document has changed since its URL was published. */
function moved(url: string): BytesResponse {
  return { kind: 'bytes', status: 301, contentType: 'text/plain', body: [], headers: { Location: url } };
}
