/** Carries one TCP connection to a port of a pod, over the runtime's streaming server. Knows nothing of pods. */
import { asError } from '#api/kit/clock.ts';
import { createSpdyConnection, type SpdyConnection } from '#api/spdy/connection.ts';
import type { SpdyStream } from '#api/spdy/stream.ts';
import { PORT_FORWARD_V1 } from '#api/vocabulary.ts';
import { RemoteCommandError } from './errors.ts';
import { pump } from './pump.ts';
import { upgradeToSpdy } from './upgrade.ts';

export interface PortForwardOptions {
  /** Port of the pod; the one that the URL was made for. */
  readonly port: number;
  /** What the client sends; its end is passed on while answers go on. */
  readonly source: AsyncIterable<Uint8Array>;
  /** Takes what the pod sends; a promise holds it back until it settles. */
  readonly sink: (chunk: Uint8Array) => Promise<void>;
  /** Breaks the connection off; the promise rejects with its reason. */
  readonly signal: AbortSignal;
}

/** An error message is a line; more than this of one is not kept. */
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
  // Nothing is ever sent on it.
  error.end();
  const over = new AbortController();
  const input = pump(options.source, (bytes) => bytes, data, over.signal);
  // A client that breaks off ends the connection at once.
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
 * @param url what the runtime's PortForward call answered with
 * @throws {StreamingError} when the server cannot be reached or refuses.
 * @throws {RemoteCommandError} when nothing listens on the port; the message is the runtime's.
 * @throws what source or sink threw; the reason of `signal`. */
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
