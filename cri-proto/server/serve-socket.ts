/** Serves gRPC services on a unix socket for local programs. Until the first connection there is only the
 *  listening socket. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import {
  type ConnectionInjector,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { listenOnSocket } from '#api/kit/sockets/unix-socket.ts';
import { methodName } from '../client/service.ts';
import { filterSocket } from './authority/filtered-socket.ts';
import { defineService } from './define-service.ts';
import { REJECTION_CODES, reasonOf } from './rejection.ts';
import type { ServedMethod, ServedService, ServedStream } from './served-service.ts';

export interface ServeDeps {
  readonly log: Logger;
  /** Called once, at the first connection. */
  readonly load: () => Promise<readonly ServedService[]>;
}

export interface SocketServer {
  /** Closes all connections. Removes the socket file, unless it belongs to another server by then. */
  close(): Promise<void>;
}

/** A limit far above the number of programs of a node, against one that never closes its connections. */
const MOST_CONNECTIONS = 1024;
/** Maximum size of a request, in bytes. */
const LONGEST_REQUEST = 4 * 1024 * 1024;

function unaryHandler(work: ServedMethod): handleUnaryCall<object, object> {
  const perform: (...args: Parameters<handleUnaryCall<object, object>>) => Promise<void> = async (
    { request },
    callback,
  ) => {
    try {
      callback(null, await work(request));
    } catch (thrown) {
      callback({ code: REJECTION_CODES[reasonOf(thrown)], details: asError(thrown).message });
    }
  };
  return (...args) => void perform(...args);
}

function streamHandler(work: ServedStream): handleServerStreamingCall<object, object> {
  const perform = async (call: ServerWritableStream<object, object>): Promise<void> => {
    const stop = new AbortController();
    call.once('cancelled', () => stop.abort());
    try {
      for await (const message of work(call.request, stop.signal)) {
        if (!call.write(message)) await Promise.race([once(call, 'drain'), once(call, 'cancelled')]);
      }
      call.end();
    } catch (thrown) {
      call.emit('error', { code: REJECTION_CODES[reasonOf(thrown)], details: asError(thrown).message });
    }
  };
  return (call) => void perform(call);
}

function handlersOf({ rpcs, methods, streams = {} }: ServedService): UntypedServiceImplementation {
  const handlers: UntypedServiceImplementation = {};
  for (const name of rpcs.map(({ rpc }) => methodName(rpc))) {
    const method = methods[name];
    const stream = streams[name];
    if (method !== undefined) handlers[name] = unaryHandler(method);
    else if (stream !== undefined) handlers[name] = streamHandler(stream);
  }
  return handlers;
}

async function createInjector(
  load: ServeDeps['load'],
): Promise<{ readonly injector: ConnectionInjector; readonly stop: () => void }> {
  const server = new Server({
    'grpc.max_receive_message_length': LONGEST_REQUEST,
    'grpc.enable_channelz': 0,
  });
  for (const service of await load()) {
    const handlers = handlersOf(service);
    const served = service.rpcs.filter(({ rpc }) => methodName(rpc) in handlers);
    server.addService(
      defineService(service.types, served, (path) => path),
      handlers,
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
      injector.injectConnection(filterSocket(socket));
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
