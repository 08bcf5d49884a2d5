/** Reports whether a client accepts a content coding. Pure. Source: RFC 9110 §12.5.3. */

const GZIP = /(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q\s*=\s*(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i;

/** @param header `Accept-Encoding` */
export const acceptsGzip = (header: string | readonly string[] | undefined): boolean =>
  typeof header === 'string' && GZIP.test(header);
