/** Failures of a SPDY connection. */

/** The peer broke the protocol; the connection cannot go on. */
export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

/** The connection ended, or this stream was reset, before its work was done. */
export class SpdyStreamError extends Error {
  override readonly name = 'SpdyStreamError';
}
