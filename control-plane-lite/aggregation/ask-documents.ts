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
import { type Answer, ask, jsonOf } from './ask.ts';
import { remoteTls } from './remote-server.ts';
import type { Address } from './resolve-service.ts';

export interface AskerDeps {
  readonly identity: Identity;
  readonly vocabulary: Vocabulary;
  /** Ends questions. */
  readonly signal: AbortSignal;
}

/** What is known of one API. */
export interface Known {
  readonly etag: string;
  readonly extract: Extract | undefined;
  /** Of its document of OpenAPI 3: what tells its content from another, and where it is. */
  readonly third: { readonly hash: string; readonly url: string } | undefined;
}

export interface DocumentAsker {
  /** What the document of OpenAPI 2 says of the API. @throws Error if it says nothing usable */
  second(api: RemoteApi, address: Address, before: Known): Promise<Omit<Known, 'third'>>;
  /** Where the document of OpenAPI 3 is. @throws Error */
  third(api: RemoteApi, address: Address): Promise<Known['third']>;
  /** That document. @throws StatusError ServiceUnavailable */
  fetch(api: RemoteApi, address: Address, url: string): Promise<Buffer>;
}

/** Larger ones would hold others up while they are read. */
const MOST_BYTES = 1024 * 1024;
const NOT_MODIFIED = 304;
const NOT_FOUND = 404;
const ROOT_3 = '/openapi/v3';
const LONGEST_URL = 2000;

const isFine = ({ status }: Answer): boolean => status >= 200 && status <= 299;

function thirdOf(index: unknown, path: string): Known['third'] {
  const paths = isMutableObject(index) ? index['paths'] : undefined;
  const entry = isMutableObject(paths) && Object.hasOwn(paths, path) ? paths[path] : undefined;
  const url = isMutableObject(entry) ? entry['serverRelativeURL'] : undefined;
  if (typeof url !== 'string' || !url.startsWith(`${ROOT_3}/`) || url.length > LONGEST_URL) return undefined;
  // Printable, and no space: it goes into a request as it is.
  if (!/^[\u0021-\u007e]+$/.test(url)) return undefined;
  return { hash: createHash('sha256').update(url).digest('hex'), url };
}

export function createDocumentAsker({ identity, vocabulary, signal }: AskerDeps): DocumentAsker {
  const name = `system:${vocabulary.componentPrefix}-aggregator`;
  const user = { name, groups: [MASTERS_GROUP], extra: {} };

  function question(api: RemoteApi, address: Address, path: string, etag = ''): Promise<Answer> {
    const headers = etag === '' ? {} : { headers: { 'if-none-match': etag } };
    const tls = remoteTls(api, identity);
    return ask({ address, tls, path, user, mostBytes: MOST_BYTES, ...headers }, signal);
  }

  return {
    async second(api, address, before) {
      const answer = await question(api, address, '/openapi/v2', before.etag);
      if (answer.status === NOT_MODIFIED) return before;
      // A server without a document takes back what it said.
      if (answer.status === NOT_FOUND) return { etag: '', extract: undefined };
      if (!isFine(answer)) throw new Error(`the server responded with status ${answer.status}`);
      const document = jsonOf(answer);
      if (document === undefined) throw new Error('the document is not JSON');
      return { etag: answer.etag ?? '', extract: extractApi(document, apiPath(api.group, api.version)) };
    },
    async third(api, address) {
      const answer = await question(api, address, ROOT_3);
      return isFine(answer) ? thirdOf(jsonOf(answer), `apis/${api.group}/${api.version}`) : undefined;
    },
    async fetch(api, address, url) {
      const answer = await question(api, address, url).catch((cause: unknown) => {
        throw new StatusError(
          'ServiceUnavailable',
          'the aggregated server of this document does not respond',
          { cause },
        );
      });
      const document = isFine(answer) ? jsonOf(answer) : undefined;
      if (!isMutableObject(document) || typeof document['openapi'] !== 'string')
        throw new StatusError('ServiceUnavailable', 'the aggregated server serves no such document');
      return answer.body;
    },
  };
}
