/** Serves gRPC services on a unix socket for programs of this machine. Until somebody calls there is nothing but the
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
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { listenOnSocket } from '#api/kit/unix-socket.ts';
import { methodName, type RpcFact } from '../client/service.ts';
import { defineService } from './define-service.ts';

/** How a call is refused. */
export type RefusalReason = 'InvalidArgument' | 'ResourceExhausted' | 'Unimplemented' | 'Unavailable';

const CODES: Readonly<Record<RefusalReason, status>> = {
  InvalidArgument: status.INVALID_ARGUMENT,
  ResourceExhausted: status.RESOURCE_EXHAUSTED,
  Unimplemented: status.UNIMPLEMENTED,
  Unavailable: status.UNAVAILABLE,
};

/** A call that is refused for a reason that the caller is told. */
export class CallRefusal extends Error {
  override readonly name = 'CallRefusal';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface ServedService {
  readonly types: MessageTypes;
  /** Unary ones alone. */
  readonly rpcs: readonly RpcFact[];
  /** By method name, as `getInfo`; an rpc without one is not served. They are given the decoded request, and may throw
   *  `CallRefusal`; what else they throw is an unknown error to the caller. */
  readonly methods: Readonly<Record<string, (request: object) => object | Promise<object>>>;
}

export interface ServeDeps {
  readonly log: Logger;
  /** Called once, when somebody connects for the first time. */
  readonly load: () => Promise<readonly ServedService[]>;
}

export interface SocketServer {
  /** Cuts connections off. The socket's file is gone afterwards, unless it is another server's by then. */
  close(): Promise<void>;
}

/** Programs that come to a node's sockets are few. */
const MOST_CONNECTIONS = 64;
/** No request to a node's service is longer, in bytes. */
const LONGEST_REQUEST = 4 * 1024 * 1024;

function handlerOf(work: (request: object) => object | Promise<object>): handleUnaryCall<object, object> {
  const perform: (...args: Parameters<handleUnaryCall<object, object>>) => Promise<void> = async (
    { request },
    callback,
  ) => {
    try {
      callback(null, await work(request));
    } catch (thrown) {
      const code = thrown instanceof CallRefusal ? CODES[thrown.reason] : status.UNKNOWN;
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

/** @param path its folder is made when it is missing; a socket that nobody serves any more is replaced
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
      log.error({ err, socket: path }, 'Socket could not be served');
      socket.destroy();
    }
  }
  // Not read from before it is the server's: what was read would be lost to it.
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    void take(socket);
  });
  server.maxConnections = MOST_CONNECTIONS;
  const claim = await listenOnSocket(server, path);
  server.on('error', (err) => log.warn({ err, socket: path }, 'Connection was not accepted'));
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
