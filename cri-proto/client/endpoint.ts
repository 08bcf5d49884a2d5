/** Endpoints of gRPC services on the node. */

/** A socket address holds 108 bytes with the terminating zero (unix(7)). */
const MAX_SOCKET_PATH_BYTES = 107;

/** An endpoint that is not a usable unix socket path. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';
}

/** Returns the socket path of `unix:///run/x.sock`, `unix:/run/x.sock` or `/run/x.sock`.
 *  @throws EndpointError for other schemes, relative and too long paths */
export function parseEndpoint(endpoint: string): string {
  const path = endpoint.replace(/^unix:(?:\/\/)?/, '');
  if (!path.startsWith('/')) {
    throw new EndpointError(
      `endpoint ${JSON.stringify(endpoint)} is not a unix socket: write unix:///path or an absolute path`,
    );
  }
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    throw new EndpointError(
      `socket path ${path} has ${bytes} bytes; the maximum is ${MAX_SOCKET_PATH_BYTES}`,
    );
  }
  if (path.includes('\0'))
    throw new EndpointError(`socket path ${JSON.stringify(path)} contains a zero byte`);
  return path;
}
