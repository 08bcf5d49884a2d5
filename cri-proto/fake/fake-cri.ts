/** In-memory container runtime behind a real unix socket. Keeps state, rejects calls in an order that the CRI
 *  does not allow, and injects faults on demand: for tests of faults that a real runtime does not produce.
 *  Passes the same contract as containerd (`contract.ts`). */
import { rm } from 'node:fs/promises';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import { type Clock, systemClock } from '#api/kit/clock.ts';
import containerdTable from '../data/containerd-events.json' with { type: 'json' };
import criV1 from '../data/cri-v1.json' with { type: 'json' };
import type { StoreEvent } from './container-store.ts';
import { createFakeRuntime, type FakeControls, fakeServices, type ServiceOptions } from './fake-runtime.ts';

export interface FakeCriOptions extends ServiceOptions {
  /** At most 107 bytes. */
  readonly socketPath: string;
  /** Clock of the records and delays of the fake; default the system clock. */
  readonly clock?: Clock;
}

export interface FakeCri extends FakeControls, AsyncDisposable {
  /** `unix://…` */
  readonly endpoint: string;
  /** Breaks all connections and stops listening, as a killed runtime. Sandboxes and containers survive. */
  readonly disconnect: () => Promise<void>;
  /** Listens again. */
  readonly reconnect: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Starts the fake; resolves when it listens. */
export async function startFakeCri(options: FakeCriOptions): Promise<FakeCri> {
  const { socketPath, clock = systemClock } = options;
  const { controls, handlerDeps, subscribe } = createFakeRuntime(clock);
  const build = (): BuiltServer => {
    const types = { cri: createMessageTypes(criV1), containerd: createMessageTypes(containerdTable) };
    const { services, publish } = fakeServices(handlerDeps, types, options);
    const server = new Server();
    for (const { definition, handlers } of services) server.addService(definition, handlers);
    return { server, publish };
  };
  let current = await listen(build, socketPath);
  subscribe(current.publish);

  async function disconnect(): Promise<void> {
    subscribe(() => undefined);
    current.server.forceShutdown();
    await rm(socketPath, { force: true });
  }

  return {
    ...controls,
    endpoint: `unix://${socketPath}`,
    disconnect,
    async reconnect() {
      current = await listen(build, socketPath);
      subscribe(current.publish);
    },
    close: disconnect,
    [Symbol.asyncDispose]: disconnect,
  };
}

interface BuiltServer {
  readonly server: Server;
  readonly publish: (event: StoreEvent) => void;
}

async function listen(build: () => BuiltServer, socketPath: string): Promise<BuiltServer> {
  const built = build();
  await new Promise<void>((resolve, reject) => {
    built.server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
  return built;
}
