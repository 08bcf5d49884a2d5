/** Fetches the OpenAPI documents of an aggregated server. Documents are limited in size and validated before
 *  use. */
import { createHash } from 'node:crypto';
import { isMutableObject } from '#api/kit/object.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Identity } from '#api/pki/certificate.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { MASTERS_GROUP } from '../authn/users.ts';
import { type Extract, extractApi } from '../openapi/others.ts';
import { apiPath, type RemoteApi } from './api-services.ts';
import { remoteTls } from './remote-server.ts';
import type { Address } from './resolve-service.ts';
import { jsonOf, type RemoteResponse, sendRequest } from './send-request.ts';

export interface DocumentClientDeps {
  readonly identity: () => Identity;
  readonly vocabulary: Vocabulary;
  /** Aborts requests. */
  readonly signal: AbortSignal;
}

/** Cached documents of one API. */
export interface Known {
  readonly etag: string;
  readonly extract: Extract | undefined;
  /** Content hash and URL of its OpenAPI 3 document. */
  readonly third: { readonly hash: string; readonly url: string } | undefined;
}

export interface DocumentClient {
  /** Fetches the part of the OpenAPI 2 document that describes the API. @throws Error if the document is unusable */
  second(api: RemoteApi, address: Address, before: Known): Promise<Omit<Known, 'third'>>;
  /** Fetches the hash and the URL of the OpenAPI 3 document. @throws Error */
  third(api: RemoteApi, address: Address): Promise<Known['third']>;
  /** Fetches the OpenAPI 3 document. @throws StatusError ServiceUnavailable */
  fetch(api: RemoteApi, address: Address, url: string): Promise<Buffer>;
}

/** Maximum document size: parsing a larger one would block the event loop. */
const MOST_BYTES = 1024 * 1024;
const NOT_MODIFIED = 304;
const NOT_FOUND = 404;
const ROOT_3 = '/openapi/v3';
const LONGEST_URL = 2000;

const isFine = ({ status }: RemoteResponse): boolean => status >= 200 && status <= 299;

function thirdOf(index: unknown, path: string): Known['third'] {
  const paths = isMutableObject(index) ? index['paths'] : undefined;
  const entry = isMutableObject(paths) && Object.hasOwn(paths, path) ? paths[path] : undefined;
  const url = isMutableObject(entry) ? entry['serverRelativeURL'] : undefined;
  if (typeof url !== 'string' || !url.startsWith(`${ROOT_3}/`) || url.length > LONGEST_URL) return undefined;
  // Printable ASCII without spaces: the URL is used in a request unchanged.
  if (!/^[\u0021-\u007e]+$/.test(url)) return undefined;
  return { hash: createHash('sha256').update(url).digest('hex'), url };
}

export function createDocumentClient({ identity, vocabulary, signal }: DocumentClientDeps): DocumentClient {
  const name = `system:${vocabulary.componentPrefix}-aggregator`;
  const user = { name, groups: [MASTERS_GROUP], extra: {} };

  function send(api: RemoteApi, address: Address, path: string, etag = ''): Promise<RemoteResponse> {
    const headers = etag === '' ? {} : { headers: { 'if-none-match': etag } };
    const tls = remoteTls(api, identity());
    return sendRequest({ address, tls, path, user, mostBytes: MOST_BYTES, ...headers }, signal);
  }

  return {
    async second(api, address, before) {
      const response = await send(api, address, '/openapi/v2', before.etag);
      if (response.status === NOT_MODIFIED) return before;
      // Without a document, earlier descriptions are discarded.
      if (response.status === NOT_FOUND) return { etag: '', extract: undefined };
      if (!isFine(response)) throw new Error(`the server responded with status ${response.status}`);
      const document = jsonOf(response);
      if (document === undefined) throw new Error('the document is not JSON');
      return { etag: response.etag ?? '', extract: extractApi(document, apiPath(api.group, api.version)) };
    },
    async third(api, address) {
      const response = await send(api, address, ROOT_3);
      return isFine(response) ? thirdOf(jsonOf(response), `apis/${api.group}/${api.version}`) : undefined;
    },
    async fetch(api, address, url) {
      const response = await send(api, address, url).catch((cause: unknown) => {
        throw new StatusError(
          'ServiceUnavailable',
          'the aggregated server of this document does not respond',
          { cause },
        );
      });
      const document = isFine(response) ? jsonOf(response) : undefined;
      if (!isMutableObject(document) || typeof document['openapi'] !== 'string')
        throw new StatusError('ServiceUnavailable', 'the aggregated server serves no such document');
      return response.body;
    },
  };
}
