/** Forwards one TCP connection to a port of a pod, through the streaming server of the runtime. Does not know
 *  pods. */
import { asError } from '#api/kit/errno.ts';
import { createSpdyConnection, type SpdyConnection } from '#api/spdy/connection.ts';
import type { SpdyStream } from '#api/spdy/stream.ts';
import { PORT_FORWARD_V1 } from '#api/vocabulary.ts';
import { RemoteCommandError } from './errors.ts';
import { pump } from './pump.ts';
import { upgradeToSpdy } from './upgrade.ts';

export interface PortForwardOptions {
  /** Port of the pod, for which the URL was created. */
  readonly port: number;
  /** Data from the client; its end is passed on while responses continue. */
  readonly source: AsyncIterable<Uint8Array>;
  /** Receives data from the pod; a returned promise applies backpressure until it settles. */
  readonly sink: (chunk: Uint8Array) => Promise<void>;
  /** Aborts the connection; the promise rejects with its reason. */
  readonly signal: AbortSignal;
}

/** Maximum size of an error message, which is a line. */
const LARGEST_ERROR_BYTES = 4096;

async function readError(stream: SpdyStream): Promise<string> {
  let text = '';
  for await (const part of stream.read()) {
    if (text.length < LARGEST_ERROR_BYTES) text += Buffer.from(part).toString('utf8');
  }
  return text.slice(0, LARGEST_ERROR_BYTES).trim();
}

async function carry(connection: SpdyConnection, options: PortForwardOptions): Promise<void> {
  const headers = { port: [String(options.port)], requestid: ['0'] };
  const error = connection.open({ ...headers, streamtype: ['error'] });
  const data = connection.open({ ...headers, streamtype: ['data'] });
  await Promise.all([error.accepted, data.accepted]);
  // Nothing is ever sent on this stream.
  error.end();
  const over = new AbortController();
  const input = pump(options.source, (bytes) => bytes, data, over.signal);
  // A disconnecting client ends the connection immediately.
  input.catch((thrown: unknown) => connection.destroy(asError(thrown)));
  try {
    for await (const chunk of data.read()) await options.sink(chunk);
    const message = await readError(error);
    if (message !== '') throw new RemoteCommandError('PortForwardFailed', message);
  } finally {
    over.abort();
    connection.close();
    await Promise.allSettled([input]);
  }
}

/** Resolves when the pod has closed the connection.
 *  @param url returned by PortForward of the runtime
 *  @throws {StreamingError} when the server is unreachable or rejects the session
 *  @throws {RemoteCommandError} when nothing listens on the port; the message is that of the runtime
 *  @throws errors of source or sink; the reason of `signal` */
export async function forwardConnection(url: string, options: PortForwardOptions): Promise<void> {
  const { signal } = options;
  signal.throwIfAborted();
  const { socket, head } = await upgradeToSpdy({ url, protocols: [PORT_FORWARD_V1], signal });
  const connection = createSpdyConnection(socket, { role: 'client', head });
  const onAbort = (): void => connection.destroy(asError(signal.reason));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await carry(connection, options);
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
    connection.close();
  }
}
