/** Session of port-forward: connects pairs of streams of a client with ports of a pod.
 *  Source: the port-forward subprotocol of the streaming servers of CRI runtimes. */
import type { Socket } from 'node:net';
import { asError } from '#api/kit/errno.ts';
import type { SpdyStream } from '#api/spdy/stream.ts';
import { PORT_FORWARD_V1 } from '#api/vocabulary.ts';
import type { StreamingSession } from './server.ts';

type Dial = (port: number) => Promise<Socket>;

interface Pair {
  data: SpdyStream | undefined;
  error: SpdyStream | undefined;
}

const portOf = (stream: SpdyStream): number => {
  const text = stream.headers['port']?.[0] ?? '';
  return /^\d{1,5}$/.test(text) ? Number(text) : 0;
};

async function sendInput(data: SpdyStream, socket: Socket): Promise<void> {
  for await (const bytes of data.read()) {
    if (socket.destroyed) return;
    await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  }
  socket.end();
}

async function forward(data: SpdyStream, error: SpdyStream, port: number, dial: Dial): Promise<void> {
  let socket: Socket | undefined;
  try {
    socket = await dial(port);
    const input = sendInput(data, socket);
    input.catch(() => socket?.destroy());
    for await (const chunk of socket as AsyncIterable<Uint8Array>) await data.write(chunk);
  } catch (thrown) {
    await error.write(Buffer.from(asError(thrown).message)).catch(() => undefined);
  } finally {
    data.end();
    error.end();
    socket?.destroy();
  }
}

/** @param allowed ports that the URL was created for; empty allows all */
export function portSession(allowed: readonly number[], dial: Dial): StreamingSession {
  return {
    protocols: [PORT_FORWARD_V1],
    async run(arriving) {
      const pairs = new Map<string, Pair>();
      const running = new Set<Promise<void>>();
      for await (const stream of arriving) {
        const id = stream.headers['requestid']?.[0] ?? `port-${portOf(stream)}`;
        const kind = stream.headers['streamtype']?.[0];
        const pair = pairs.get(id) ?? { data: undefined, error: undefined };
        pairs.set(id, pair);
        if (kind === 'data') pair.data = stream;
        else if (kind === 'error') pair.error = stream;
        else stream.reset();
        const { data, error } = pair;
        if (data === undefined || error === undefined) continue;
        pairs.delete(id);
        const port = portOf(data);
        if (port < 1 || port > 65_535 || (allowed.length > 0 && !allowed.includes(port))) {
          await error
            .write(Buffer.from(`port ${port} is not forwarded by this session`))
            .catch(() => undefined);
          error.end();
          data.end();
          continue;
        }
        const work = forward(data, error, port, dial);
        running.add(work);
        work.finally(() => running.delete(work)).catch(() => undefined);
      }
      await Promise.all(running);
    },
  };
}
