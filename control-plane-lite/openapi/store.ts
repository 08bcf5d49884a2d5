/** Cache of compressed documents. Each is built once for its content, and dropped when the content
 *  changes. */

import { isCurrent } from '../discovery/etag.ts';
import { acceptsGzip } from '../http/connection/accept-encoding.ts';
import type { ApiRequest, BytesResponse } from '../http/contract.ts';
import { compress, decompress } from './compress.ts';

export interface Wanted {
  /** Identifier of the document, independent of its content. */
  readonly key: string;
  /** Hash of the content. */
  readonly hash: string;
  readonly contentType: string;
  readonly make: () => Iterable<string | Uint8Array>;
  /** Whether the URL contains the hash, so that the response is immutable. */
  readonly forever?: boolean;
}

export interface DocumentStore {
  respond(request: ApiRequest, wanted: Wanted): Promise<BytesResponse>;
  /** Reports whether the document is cached. */
  has(wanted: Pick<Wanted, 'key' | 'hash'>): boolean;
  /** Evicts all other documents. */
  retain(keys: ReadonlySet<string>): void;
}

interface Stored {
  readonly hash: string;
  readonly bytes: Promise<Buffer>;
}

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

/** Returns headers that let clients cache the response without revalidation. Source: upstream, for `/openapi/v3/…?hash=`. */
function keeping({ receivedMs }: ApiRequest): Pick<BytesResponse, 'cacheControl' | 'headers'> {
  return {
    cacheControl: 'public, immutable',
    headers: { Expires: new Date(receivedMs + YEAR_MS).toUTCString() },
  };
}

export function createDocumentStore(): DocumentStore {
  const documents = new Map<string, Stored>();
  // Sequential: concurrent builds would together block the event loop for long.
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
    async respond(request, wanted) {
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
