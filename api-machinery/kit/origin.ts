/** Which page of a browser a request comes from. Browsers show client certificates to every server that asks, for
 *  any page; other credentials have to be known to the page. Pure. @see RFC 6455, 10.2 */

/** What the library of the field's own tests says, which is no browser; no page of anybody else's has it. */
const FIXED_ORIGIN = 'http://localhost';

/** Whether a page of another server than this one has made the request. Programs that are no browsers name no page.
 *  @param origin of the header `Origin` @param host of the header `Host`, of a request over TLS */
export function isFromForeignPage(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined || origin === FIXED_ORIGIN) return false;
  const page = URL.parse(origin);
  const own = URL.parse(`https://${host ?? ''}`);
  return page === null || own === null || page.protocol !== 'https:' || page.host !== own.host;
}
