/** Preset dictionary of SPDY/3 header compression. Constant on the wire: changing a byte breaks every peer.
 *  Source: SPDY Protocol draft 3, section 2.6.10.1 (Adler-32 checksum e3c6a7c2, 1423 bytes). */

/** Entries that the dictionary contains with their length before them, 32 bits big endian. */
const LENGTH_PREFIXED: readonly string[] = [
  ...'options head post put delete trace accept accept-charset accept-encoding accept-language'.split(' '),
  ...'accept-ranges age allow authorization cache-control connection content-base'.split(' '),
  ...'content-encoding content-language content-length content-location content-md5'.split(' '),
  ...'content-range content-type date etag expect expires from host if-match'.split(' '),
  ...'if-modified-since if-none-match if-range if-unmodified-since last-modified location'.split(' '),
  ...'max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after'.split(' '),
  ...'server te trailer transfer-encoding upgrade user-agent vary via warning'.split(' '),
  ...'www-authenticate method get status'.split(' '),
  '200 OK',
  ...'version HTTP/1.1 url public set-cookie keep-alive origin'.split(' '),
];

/** The rest of the dictionary, without additional separators. */
const PLAIN: readonly string[] = [
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505',
  '203 Non-Authoritative Information',
  '204 No Content',
  '301 Moved Permanently',
  '400 Bad Request',
  '401 Unauthorized',
  '403 Forbidden',
  '404 Not Found',
  '500 Internal Server Error',
  '501 Not Implemented',
  '503 Service Unavailable',
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT',
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,',
  'text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.',
];

/** Adler-32 checksum that identifies the dictionary in a zlib stream. */
export const DICTIONARY_ID = 0xe3c6a7c2;

/** Builds the dictionary's bytes. */
export function createDictionary(): Buffer {
  const prefixed = LENGTH_PREFIXED.flatMap((word) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(word.length);
    return [length, Buffer.from(word, 'latin1')];
  });
  return Buffer.concat([...prefixed, Buffer.from(PLAIN.join(''), 'latin1')]);
}
