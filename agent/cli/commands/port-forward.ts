/** `nodeagent port-forward` */
import { once } from 'node:events';
import { createServer, isIP, type Server, type Socket } from 'node:net';
import type { Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { forwardConnection } from '#cri/streaming/port-forward.ts';
import { NAMESPACE_OPTION } from '../args/pod-options.ts';
import { type PortPair, parsePortPair } from '../args/port-pairs.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { fetchSessionUrl } from '../containers/session.ts';
import { CommandError, errorText, UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';

const DEFAULT_ADDRESS = '127.0.0.1';

export const command: Command = defineCommand({
  name: 'port-forward',
  summary: 'Forwards ports of this machine to a pod until interrupted.',
  usage: ['[options] POD [LOCAL:]REMOTE…'],
  options: {
    address: {
      type: 'string',
      multiple: true,
      value: 'ADDRESS',
      help: `local IP addresses or localhost, separated by commas (${DEFAULT_ADDRESS}); anyone who reaches them reaches the pod`,
    },
    namespace: NAMESPACE_OPTION,
  },
  examples: [
    ['port-forward web 8080:80', 'forward 127.0.0.1:8080 to port 80 of the pod'],
    ['port-forward --address 0.0.0.0 web 8080:80', 'for every machine of the network'],
    ['port-forward web :80', 'forward any free local port to port 80'],
  ],
  async run(args, context) {
    const [text, ...ports] = args.positionals;
    if (text === undefined || ports.length === 0)
      throw new UsageError('port-forward requires a POD and its ports');
    const pairs = ports.map(parsePortPair);
    const addresses = parseAddresses(args.texts('address'));
    const pod = findPod(await fetchPods(context.api), parsePodName(text, args.text('namespace')));
    await using servers = new AsyncDisposableStack();
    for (const address of addresses) {
      for (const pair of pairs) servers.use(await listen(pod, address, pair, context));
    }
    await aborted(context.signal);
    return 0;
  },
});

/** @throws UsageError for anything but IP addresses and localhost, whose meaning could change */
function parseAddresses(texts: readonly string[]): readonly string[] {
  const given = texts.flatMap((text) => text.split(','));
  const addresses = given.map((text) => (text === 'localhost' ? DEFAULT_ADDRESS : text));
  const invalid = addresses.find((text) => isIP(text) === 0);
  if (invalid !== undefined) {
    throw new UsageError(
      `--address: invalid value ${JSON.stringify(invalid)}: must be an IP address or localhost`,
    );
  }
  return addresses.length === 0 ? [DEFAULT_ADDRESS] : [...new Set(addresses)];
}

const hostText = (address: string): string => (isIP(address) === 6 ? `[${address}]` : address);

/** Waits for the signal. @throws its reason */
async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw asError(signal.reason);
}

async function listen(
  pod: Pod,
  address: string,
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
    await listening(server, address, local);
  } catch (cause) {
    throw new CommandError(`cannot listen on ${hostText(address)}:${local}`, { cause });
  }
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : local;
  await context.out.write(
    `forwarding ${hostText(address)}:${port} to port ${remote} of pod ${pod.metadata?.name}\n`,
  );
  return {
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function listening(server: Server, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
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
