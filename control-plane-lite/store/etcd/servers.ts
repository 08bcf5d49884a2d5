/** Servers of an etcd cluster. Connections to all of them stay open; calls use one of them until it fails. */
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { StoreError } from '../contract.ts';
import { parseAddress } from './address.ts';
import { isAway } from './failure.ts';
import type { Method } from './messages.ts';

export interface EtcdTls {
  /** PEM. Absent: Node's default CAs. */
  readonly ca?: Uint8Array;
  /** PEM; both or neither. */
  readonly cert?: Uint8Array;
  readonly key?: Uint8Array;
}

export interface ServersOptions {
  /** `https://host:2379`, `http://…`, or without a scheme: with TLS if `tls` is given. */
  readonly servers: readonly string[];
  readonly tls?: EtcdTls;
  readonly timeoutMs: number;
}

export type WatchStream = ClientDuplexStream<object, DecodedMessage>;

export interface Servers {
  /** @param repeat whether the call is idempotent: another server is then tried
   *  @throws ServiceError, or StoreError `unavailable` if no server is connected within the time */
  readonly call: (method: Method, request: object, repeat: boolean) => Promise<DecodedMessage>;
  /** Opens a stream to a connected server. */
  readonly stream: (method: Method) => Promise<WatchStream>;
  /** A stream broke: the next goes to another server. */
  readonly next: () => void;
  /** Uses other credentials for new connections; streams and calls in progress keep theirs. */
  readonly replaceTls: (tls: EtcdTls) => void;
  readonly close: () => void;
}

const CHANNEL_OPTIONS: Readonly<Record<string, number>> = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3000,
  // A server that vanishes silently is noticed after 15 s.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5000,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_channelz': 0,
  // The events of many writes arrive without waiting halfway for a window update.
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
};

export function createServers(options: ServersOptions): Servers {
  const { timeoutMs } = options;
  const connectAll = (tls: EtcdTls | undefined): readonly Client[] =>
    options.servers.map((server) => connect(server, tls));
  let clients = connectAll(options.tls);
  // A server without a leader reports that, instead of holding the call.
  const metadata = new Metadata();
  metadata.set('hasleader', 'true');
  let current = 0;
  const inOrder = (): readonly Client[] => [...clients.slice(current), ...clients.slice(0, current)];

  async function pick(deadline: number): Promise<Client> {
    const order = inOrder();
    const ready = order.find(isReady) ?? (await firstReady(order, deadline));
    current = clients.indexOf(ready);
    return ready;
  }

  function next(): void {
    current = (current + 1) % clients.length;
  }

  return {
    async call(method, request, repeat) {
      const deadline = Date.now() + timeoutMs;
      for (let attempt = 1; ; attempt += 1) {
        const client = await pick(deadline);
        try {
          return await unary(client, method, request, metadata, deadline);
        } catch (thrown) {
          if (!isAway(thrown)) throw thrown;
          next();
          if (!repeat || attempt > clients.length || Date.now() >= deadline) throw thrown;
        }
      }
    },
    async stream(method) {
      const client = await pick(Date.now() + timeoutMs);
      const { path, request, response } = method;
      const stream = client.makeBidiStreamRequest<object, DecodedMessage>(
        path,
        (message) => asBuffer(request.encode(message)),
        (bytes) => response.decode(bytes),
        metadata,
      );
      // Cancelling the call is an error, too, which needs no handling.
      return stream.on('error', () => undefined);
    },
    next,
    replaceTls(tls) {
      const former = clients;
      clients = connectAll(tls);
      // The library lets calls and streams that have begun finish.
      for (const client of former) client.close();
    },
    close() {
      for (const client of clients) client.close();
    },
  };
}

/** @throws StoreError `unavailable` if the address is invalid */
function connect(server: string, tls: EtcdTls | undefined): Client {
  const { scheme, host, target: address } = parseAddress(server, tls !== undefined);
  const target = `dns:${address}`;
  if (scheme === 'http') return new Client(target, credentials.createInsecure(), CHANNEL_OPTIONS);
  // Node refuses an IP address as server name: another name is sent, and the address is verified.
  const isAddress = isIP(host) !== 0;
  const verify = isAddress
    ? { checkServerIdentity: (_: string, cert: PeerCertificate) => checkServerIdentity(host, cert) }
    : {};
  const security = credentials.createSsl(pem(tls?.ca), pem(tls?.key), pem(tls?.cert), verify);
  const name = isAddress ? { 'grpc.ssl_target_name_override': 'etcd.invalid' } : {};
  return new Client(target, security, { ...CHANNEL_OPTIONS, ...name });
}

function isReady(client: Client): boolean {
  return client.getChannel().getConnectivityState(true) === connectivityState.READY;
}

function firstReady(clients: readonly Client[], deadline: number): Promise<Client> {
  const waits = clients.map(
    (client) =>
      new Promise<Client>((resolve, reject) => {
        client.waitForReady(deadline, (error) => (error === undefined ? resolve(client) : reject(error)));
      }),
  );
  return Promise.any(waits).catch((thrown: unknown) => {
    // The first server's error: an AggregateError's own message names no reason.
    const cause: unknown = thrown instanceof AggregateError ? thrown.errors[0] : thrown;
    throw new StoreError('unavailable', 'no etcd server could be reached', { cause });
  });
}

function unary(
  client: Client,
  { path, request, response }: Method,
  message: object,
  metadata: Metadata,
  deadline: number,
): Promise<DecodedMessage> {
  // Now, because the finished call is retained for a while, together with its arguments.
  const encoded = asBuffer(request.encode(message));
  return new Promise((resolve, reject) => {
    withoutStacks(() =>
      client.makeUnaryRequest<Buffer, DecodedMessage>(
        path,
        (bytes) => bytes,
        (bytes) => response.decode(bytes),
        encoded,
        metadata,
        { deadline },
        (error: ServiceError | null, decoded) => {
          if (error !== null) reject(error);
          else resolve(decoded ?? {});
        },
      ),
    );
  });
}

/** The library creates an error for each call, in case it fails, for its stack trace. That one is never
 *  shown: the store throws errors of its own. */
function withoutStacks(work: () => void): void {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    work();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** Memory from another thread arrives as a Uint8Array, not as a Buffer. */
function pem(bytes: Uint8Array | undefined): Buffer | null {
  return bytes === undefined ? null : asBuffer(bytes);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
