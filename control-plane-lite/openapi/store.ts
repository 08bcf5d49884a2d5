/** Cache of compressed documents. Each is built once for its content, and dropped when the content
 *  changes. */

import { isCurrent } from '../discovery/etag.ts';
import { acceptsGzip } from '../http/connection/accept-encoding.ts';
import type { ApiRequest, BytesResponse } from '../http/contract.ts';
import { compress, decompress } from './compress.ts';

export interface Wanted {
  /** Which document this is, whatever its content. */
  readonly key: string;
  /** Of its content. */
  readonly hash: string;
  readonly contentType: string;
  readonly make: () => Iterable<string | Uint8Array>;
  /** The address names this very content, which never changes. */
  readonly forever?: boolean;
}

export interface DocumentStore {
  answer(request: ApiRequest, wanted: Wanted): Promise<BytesResponse>;
  /** Whether it need not be made. */
  has(wanted: Pick<Wanted, 'key' | 'hash'>): boolean;
  /** Forgets all documents but these. */
  retain(keys: ReadonlySet<string>): void;
}

interface Stored {
  readonly hash: string;
  readonly bytes: Promise<Buffer>;
}

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

/** What lets clients keep the answer without asking again. Source: upstream, for `/openapi/v3/…?hash=`. */
function keeping({ receivedMs }: ApiRequest): Pick<BytesResponse, 'cacheControl' | 'headers'> {
  return {
    cacheControl: 'public, immutable',
    headers: { Expires: new Date(receivedMs + YEAR_MS).toUTCString() },
  };
}

export function createDocumentStore(): DocumentStore {
  const documents = new Map<string, Stored>();
  // One after the other: the turns of many together would be a long one for everybody else.
  let making: Promise<unknown> = Promise.resolve();

  function stored({ key, hash, make }: Wanted): Promise<Buffer> {
    const known = documents.get(key);
    if (known?.hash === hash) return known.bytes;
    const bytes = making.then(() => compress(make()));
    const entry = { hash, bytes };
    documents.set(key, entry);
    making = bytes.catch(() => {
      if (documents.get(key) === entry) documents.delete(key);
    });
    return bytes;
  }

  return {
    async answer(request, wanted) {
      const { hash, contentType, forever = false } = wanted;
      const etag = `"${hash}"`;
      const more = forever ? keeping(request) : {};
      const headers = { ETag: etag, Vary: 'Accept, Accept-Encoding', ...more.headers };
      const common = { kind: 'bytes', contentType, ...more } as const;
      if (isCurrent(request.headers['if-none-match'], etag)) {
        return { ...common, status: 304, body: [], headers };
      }
      const bytes = await stored(wanted);
      if (!acceptsGzip(request.headers['accept-encoding']))
        return { ...common, status: 200, body: await decompress(bytes), headers };
      return { ...common, status: 200, body: bytes, headers: { ...headers, 'Content-Encoding': 'gzip' } };
    },
    has: ({ key, hash }) => documents.get(key)?.hash === hash,
    retain(keys) {
      for (const key of documents.keys()) if (!keys.has(key)) documents.delete(key);
    },
  };
}
