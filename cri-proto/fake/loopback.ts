/** In-process connection to a fake runtime, without sockets: for fleets of agents that each have their own
 *  runtime. Encodes and decodes messages as on the wire, so that neither side can modify objects of the
 *  other. */
import { EventEmitter } from 'node:events';
import type { MethodDefinition } from '@grpc/grpc-js';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { methodOfPath } from '../client/call.ts';
import type { GrpcChannel } from '../client/channel.ts';
import type { ChannelState } from '../client/channel-state.ts';
import { type CriConnection, connectOver } from '../client/connection.ts';
import { CriError, reasonOfCode } from '../errors.ts';
import {
  createFakeRuntime,
  type FakeControls,
  type FakeServices,
  type FakeTypes,
  fakeServices,
  type ServiceOptions,
} from './fake-runtime.ts';

export interface InProcessDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly types: FakeTypes;
}

export interface InProcessRuntime {
  readonly controls: FakeControls;
  readonly connection: CriConnection;
}

type Method = MethodDefinition<object, object>;
type Handler = (call: object, callback?: (error: unknown, response?: object) => void) => void;

/** A runtime and its only connection. */
export function connectInProcess(deps: InProcessDeps, options: ServiceOptions = {}): InProcessRuntime {
  const { clock, log, types } = deps;
  const { controls, handlerDeps, subscribe } = createFakeRuntime(clock, false);
  const services = fakeServices(handlerDeps, types, options);
  subscribe(services.publish);
  const channel = createLoopback(services);
  return { controls, connection: connectOver(channel, types.cri, { endpoint: 'in-process', log }) };
}

/** Channel to handlers in this process. Connected until it is closed. */
function createLoopback({ services }: FakeServices): GrpcChannel {
  const methods = new Map<string, { readonly method: Method; readonly handler: Handler }>();
  for (const { definition, handlers } of services) {
    for (const [name, method] of Object.entries(definition)) {
      const handler = handlers[name];
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- gRPC types no handler by its name
      if (handler !== undefined) methods.set(method.path, { method, handler: handler as Handler });
    }
  }
  const closing = new AbortController();
  const listeners = new Set<(state: ChannelState) => void>();

  function find(path: string, signal: AbortSignal | undefined): { method: Method; handler: Handler } {
    signal?.throwIfAborted();
    const name = methodOfPath(path);
    if (closing.signal.aborted) {
      throw new CriError({ reason: 'ConnectionClosed', method: name, details: 'connection closed' });
    }
    const found = methods.get(path);
    if (found !== undefined) return found;
    throw new CriError({ reason: 'Unimplemented', method: name, details: `unknown method ${path}` });
  }

  return {
    async unary(path, request, { signal }) {
      const { method, handler } = find(path, signal);
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
      handler({ request: method.requestDeserialize(Buffer.from(request)) }, (error, response) => {
        if (error === null && response !== undefined) resolve(method.responseSerialize(response));
        else reject(failure(path, error));
      });
      const onAbort = (): void => reject(asError(signal?.reason));
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        return await promise;
      } finally {
        signal?.removeEventListener('abort', onAbort);
      }
    },
    async *stream(path, request, { signal }) {
      const { method, handler } = find(path, signal);
      const call = new ServerCall(method.requestDeserialize(Buffer.from(request)));
      const stop = (): void => call.cancel();
      const ends = signal === undefined ? [closing.signal] : [closing.signal, signal];
      for (const end of ends) end.addEventListener('abort', stop, { once: true });
      try {
        handler(call);
        for await (const message of call.messages()) yield method.responseSerialize(message);
        signal?.throwIfAborted();
      } finally {
        for (const end of ends) end.removeEventListener('abort', stop);
        stop();
      }
    },
    state: () => (closing.signal.aborted ? 'away' : 'connected'),
    onStateChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      listeners.clear();
      closing.abort();
    },
  };
}

/** The used members of a server stream call. */
class ServerCall extends EventEmitter {
  readonly request: object;
  readonly #waiting: object[] = [];
  #news: PromiseWithResolvers<void> = Promise.withResolvers();
  #over = false;

  constructor(request: object) {
    super();
    this.request = request;
  }

  write(message: object): void {
    if (this.#over) return;
    this.#waiting.push(message);
    this.#news.resolve();
  }

  end(): void {
    this.#over = true;
    this.#news.resolve();
  }

  cancel(): void {
    if (this.#over) return;
    this.end();
    this.emit('cancelled');
  }

  async *messages(): AsyncGenerator<object, void, undefined> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#over) return;
      else {
        await this.#news.promise;
        this.#news = Promise.withResolvers();
      }
    }
  }
}

function failure(path: string, error: unknown): CriError {
  const cause = asError(error);
  const code = 'code' in cause && typeof cause.code === 'number' ? cause.code : 2;
  const details = 'details' in cause && typeof cause.details === 'string' ? cause.details : cause.message;
  return new CriError({ reason: reasonOfCode(code), method: methodOfPath(path), details, cause });
}
