/** `nodeagent port-forward` */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { forwardConnection } from '#cri/streaming/port-forward.ts';
import { type PortPair, parsePortPair } from '../args/port-pairs.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, errorText, UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { fetchSessionUrl } from './session.ts';

const ADDRESS = '127.0.0.1';

export const command: Command = defineCommand({
  name: 'port-forward',
  summary: 'Forwards ports of 127.0.0.1 to a pod until interrupted.',
  usage: ['[options] POD [LOCAL:]REMOTE…'],
  options: {
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the pod (default)' },
  },
  examples: [
    ['port-forward web 8080:80', 'forward 127.0.0.1:8080 to port 80 of the pod'],
    ['port-forward web :80', 'forward any free local port to port 80'],
  ],
  async run(args, context) {
    const [text, ...ports] = args.positionals;
    if (text === undefined || ports.length === 0)
      throw new UsageError('port-forward requires a POD and its ports');
    const pairs = ports.map(parsePortPair);
    const pod = findPod(await fetchPods(context.api), parsePodName(text, args.text('namespace')));
    await using servers = new AsyncDisposableStack();
    for (const pair of pairs) servers.use(await listen(pod, pair, context));
    await aborted(context.signal);
    return 0;
  },
});

/** Waits for the signal. @throws its reason */
async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw asError(signal.reason);
}

async function listen(
  pod: Pod,
  { local, remote }: PortPair,
  context: CommandContext,
): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>();
  // Either end may close its half of the connection first.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    void forward(pod, remote, socket, context);
  });
  try {
    await listening(server, local);
  } catch (cause) {
    throw new CommandError(`cannot listen on ${ADDRESS}:${local}`, { cause });
  }
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : local;
  await context.out.write(`forwarding ${ADDRESS}:${port} to port ${remote} of pod ${pod.metadata?.name}\n`);
  return {
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, ADDRESS, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Forwards one connection. A failure is reported and ends only this connection. */
async function forward(pod: Pod, port: number, socket: Socket, context: CommandContext): Promise<void> {
  const { api, err, signal } = context;
  const gone = new AbortController();
  // A disconnecting client is not an error but the end of the connection.
  socket.once('close', () => gone.abort(new Error('client disconnected')));
  socket.on('error', () => undefined);
  const { namespace = '', name = '' } = pod.metadata ?? {};
  try {
    const path = ['portForward', namespace, name, String(port)];
    const url = await fetchSessionUrl(api, { path, signal: AbortSignal.any([signal, gone.signal]) });
    await forwardConnection(url, {
      port,
      source: chunksOf(socket),
      sink: (chunk) => write(socket, chunk),
      signal: AbortSignal.any([signal, gone.signal]),
    });
    socket.end();
  } catch (thrown) {
    if (!gone.signal.aborted && !signal.aborted) {
      await err.write(`connection to port ${port}: ${errorText(asError(thrown))}\n`).catch(() => undefined);
    }
    socket.destroy();
  }
}

/** Yields incoming data until the remote end closes its half; the other half stays open. */
async function* chunksOf(socket: Socket): AsyncGenerator<Uint8Array> {
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    if (chunk instanceof Uint8Array) yield chunk;
  }
}

function write(socket: Socket, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(chunk, (error) => (error === null || error === undefined ? resolve() : reject(error)));
  });
}
