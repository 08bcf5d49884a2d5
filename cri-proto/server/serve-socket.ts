/** Serves gRPC services on a unix socket for local programs. Until the first connection there is only the
 *  listening socket. */
import { createServer, type Socket } from 'node:net';
import {
  type ConnectionInjector,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  status,
} from '@grpc/grpc-js';
import type { MessageTypes } from '#api/codec/protobuf/message.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { listenOnSocket } from '#api/kit/sockets/unix-socket.ts';
import { methodName, type RpcFact } from '../client/service.ts';
import { defineService } from './define-service.ts';

/** Error of a rejected call. */
export type RejectionReason = 'InvalidArgument' | 'ResourceExhausted' | 'Unimplemented' | 'Unavailable';

const CODES: Readonly<Record<RejectionReason, status>> = {
  InvalidArgument: status.INVALID_ARGUMENT,
  ResourceExhausted: status.RESOURCE_EXHAUSTED,
  Unimplemented: status.UNIMPLEMENTED,
  Unavailable: status.UNAVAILABLE,
};

/** A rejected call whose reason is returned to the caller. */
export class CallRejection extends Error {
  override readonly name = 'CallRejection';
  readonly reason: RejectionReason;

  constructor(reason: RejectionReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface ServedService {
  readonly types: MessageTypes;
  /** Only unary rpcs. */
  readonly rpcs: readonly RpcFact[];
  /** Handlers by method name, such as `getInfo`; an rpc without one is not served. They receive the decoded
   *  request, and may throw `CallRejection`; any other error is `Unknown` to the caller. */
  readonly methods: Readonly<Record<string, (request: object) => object | Promise<object>>>;
}

export interface ServeDeps {
  readonly log: Logger;
  /** Called once, at the first connection. */
  readonly load: () => Promise<readonly ServedService[]>;
}

export interface SocketServer {
  /** Closes all connections. Removes the socket file, unless it belongs to another server by then. */
  close(): Promise<void>;
}

/** Few programs connect to the sockets of a node. */
const MOST_CONNECTIONS = 64;
/** Maximum size of a request, in bytes. */
const LONGEST_REQUEST = 4 * 1024 * 1024;

function handlerOf(work: (request: object) => object | Promise<object>): handleUnaryCall<object, object> {
  const perform: (...args: Parameters<handleUnaryCall<object, object>>) => Promise<void> = async (
    { request },
    callback,
  ) => {
    try {
      callback(null, await work(request));
    } catch (thrown) {
      const code = thrown instanceof CallRejection ? CODES[thrown.reason] : status.UNKNOWN;
      callback({ code, details: asError(thrown).message });
    }
  };
  return (...args) => void perform(...args);
}

async function createInjector(
  load: ServeDeps['load'],
): Promise<{ readonly injector: ConnectionInjector; readonly stop: () => void }> {
  const server = new Server({
    'grpc.max_receive_message_length': LONGEST_REQUEST,
    'grpc.enable_channelz': 0,
  });
  for (const { types, rpcs, methods } of await load()) {
    const served = rpcs.filter(({ rpc }) => methodName(rpc) in methods);
    const handlers = served.flatMap(({ rpc }) => {
      const work = methods[methodName(rpc)];
      return work === undefined ? [] : [[methodName(rpc), handlerOf(work)] as const];
    });
    server.addService(
      defineService(types, served, (path) => path),
      Object.fromEntries(handlers),
    );
  }
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  return {
    injector,
    stop() {
      injector.destroy();
      server.forceShutdown();
    },
  };
}

/** @param path its directory is created if missing; a stale socket is replaced
 *  @throws SocketInUseError */
export async function serveSocket({ log, load }: ServeDeps, path: string): Promise<SocketServer> {
  const sockets = new Set<Socket>();
  let made: ReturnType<typeof createInjector> | undefined;
  async function take(socket: Socket): Promise<void> {
    try {
      const { injector } = await (made ??= createInjector(load));
      injector.injectConnection(socket);
      socket.resume();
    } catch (err) {
      made = undefined;
      log.error({ err, socket: path }, 'Failed to serve socket');
      socket.destroy();
    }
  }
  // Do not read before the server owns the socket: the data would be lost.
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    void take(socket);
  });
  server.maxConnections = MOST_CONNECTIONS;
  const claim = await listenOnSocket(server, path);
  server.on('error', (err) => log.warn({ err, socket: path }, 'Failed to accept connection'));
  return {
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      (await made?.catch(() => undefined))?.stop();
      await closed;
      await claim.release();
    },
  };
}
