/** Errors of a SPDY connection. */

/** The peer violated the protocol; the connection cannot continue. */
export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

/** The connection ended, or this stream was reset, before its work was complete. */
export class SpdyStreamError extends Error {
  override readonly name = 'SpdyStreamError';
}
