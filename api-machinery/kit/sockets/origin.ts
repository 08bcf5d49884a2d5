/** Origin check of requests from browser pages. Browsers present client certificates to every server that
 *  requests one, for any page; other credentials must be known to the page. Pure. @see RFC 6455, 10.2 */

/** Origin sent by the library of upstream's tests, which is not a browser; no foreign page has it. */
const FIXED_ORIGIN = 'http://localhost';

/** Reports whether a page of another server made the request. Programs that are not browsers send no origin.
 *  @param origin of the header `Origin` @param host of the header `Host`, of a request over TLS */
export function isFromForeignPage(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined || origin === FIXED_ORIGIN) return false;
  const page = URL.parse(origin);
  const own = URL.parse(`https://${host ?? ''}`);
  return page === null || own === null || page.protocol !== 'https:' || page.host !== own.host;
}
