/** A container runtime that exists in memory only and is spoken to over a real unix socket. It keeps state, refuses
 *  calls in an order that the CRI does not allow, and breaks on demand: for tests of faults that a real
 *  runtime won't produce. It passes the same contract as containerd (`contract.ts`). */
import { rm } from 'node:fs/promises';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import { type Clock, systemClock } from '#api/kit/clock.ts';
import containerdTable from '../data/containerd-events.json' with { type: 'json' };
import criV1 from '../data/cri-v1.json' with { type: 'json' };
import type { RuntimeCondition } from '../gen/cri-v1.ts';
import type { StoreEvent } from './container-store.ts';
import { createContainerdEvents, createCriEvents, type EventStream } from './event-streams.ts';
import { createFaults, type Faults } from './faults.ts';
import { createImageHandlers } from './image-handlers.ts';
import { createImageStore, type ImageStore } from './image-store.ts';
import { createPodStore, type PodStore } from './pod-store.ts';
import {
  createRuntimeHandlers,
  type FakeExecResult,
  type RuntimeHandlerDeps,
  type StopBehaviour,
} from './runtime-handlers.ts';
import { defineService } from './serve.ts';
import type { FakeUsage } from './views.ts';

export interface FakeCriOptions {
  /** At most 107 bytes. */
  readonly socketPath: string;
  /** Time of the fake's records and waits; the system's unless given. */
  readonly clock?: Clock;
  /** Versions it speaks; `v1` unless given. */
  readonly versions?: readonly ('v1' | 'v1alpha2')[];
  /** How it tells of events; `containerd` unless given. */
  readonly events?: 'cri' | 'containerd' | 'none';
}

export interface FakeCri extends AsyncDisposable {
  /** `unix://…` */
  readonly endpoint: string;
  readonly faults: Faults;
  /** Its sandboxes and containers; `pods.exitContainer` ends one, `pods.stopSandbox` lets a sandbox die. */
  readonly pods: PodStore;
  readonly images: ImageStore;
  /** How a container takes StopContainer; exits with 143 unless set. */
  readonly setStopBehaviour: (containerId: string, behaviour: StopBehaviour) => void;
  /** What ExecSync answers; exit code 0 unless set. */
  readonly setExec: (exec: RuntimeHandlerDeps['exec']) => void;
  readonly setUsage: (containerId: string, usage: FakeUsage) => void;
  readonly setConditions: (conditions: readonly RuntimeCondition[]) => void;
  /** Breaks all connections and stops listening, as a runtime that was killed. Sandboxes and containers live on. */
  readonly disconnect: () => Promise<void>;
  /** Listens again. */
  readonly reconnect: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const READY: readonly RuntimeCondition[] = [
  { type: criV1.constants.RuntimeReady.value, status: true, reason: '', message: '' },
  { type: criV1.constants.NetworkReady.value, status: true, reason: '', message: '' },
];

/** Starts it; resolves when it listens. */
export async function startFakeCri(options: FakeCriOptions): Promise<FakeCri> {
  const { socketPath, clock = systemClock } = options;
  const images = createImageStore();
  const faults = createFaults(clock);
  const stopBehaviours = new Map<string, StopBehaviour>();
  const usages = new Map<string, FakeUsage>();
  let exec: RuntimeHandlerDeps['exec'] = (): FakeExecResult => ({ exitCode: 0 });
  let conditions = READY;
  let publish: (event: StoreEvent) => void = () => undefined;
  const pods = createPodStore({ now: () => clock.now(), onEvent: (event) => publish(event) });
  const runtimeDeps: RuntimeHandlerDeps = {
    clock,
    faults,
    pods,
    images,
    stopBehaviour: (id) => stopBehaviours.get(id) ?? { kind: 'exits', exitCode: 143 },
    exec: (id, command) => exec(id, command),
    usage: (id) => usages.get(id) ?? { cpuNanoseconds: 0, memoryBytes: 0 },
    conditions: () => conditions,
    streamingUrl: 'http://127.0.0.1:1',
  };
  const build = (): BuiltServer => buildServer(options, runtimeDeps);
  let current = await listen(build, socketPath);
  publish = current.publish;

  async function disconnect(): Promise<void> {
    publish = () => undefined;
    current.server.forceShutdown();
    await rm(socketPath, { force: true });
  }

  return {
    endpoint: `unix://${socketPath}`,
    faults,
    pods,
    images,
    setStopBehaviour: (id, behaviour) => void stopBehaviours.set(id, behaviour),
    setExec(next) {
      exec = next;
    },
    setUsage: (id, usage) => void usages.set(id, usage),
    setConditions(next) {
      conditions = next;
    },
    disconnect,
    async reconnect() {
      current = await listen(build, socketPath);
      publish = current.publish;
    },
    close: disconnect,
    [Symbol.asyncDispose]: disconnect,
  };
}

interface BuiltServer {
  readonly server: Server;
  readonly publish: (event: StoreEvent) => void;
}

function buildServer(options: FakeCriOptions, deps: RuntimeHandlerDeps): BuiltServer {
  const { versions = ['v1'], events = 'containerd' } = options;
  const { clock, pods, faults, images } = deps;
  const server = new Server();
  const types = createMessageTypes(criV1);
  const containerdTypes = createMessageTypes(containerdTable);
  const criEvents = createCriEvents(pods, () => clock.now());
  const runtime = createRuntimeHandlers(deps);
  const image = createImageHandlers({ clock, faults, images, usedBytes: () => 0 });
  for (const version of versions) {
    const path = (v1: string): string => v1.replace('.v1.', `.${version}.`);
    const isV1 = version === 'v1' && events === 'cri';
    const handlers = isV1 ? { ...runtime, ...criEvents.handlers } : runtime;
    server.addService(defineService(types, criV1.services.RuntimeService, path), handlers);
    server.addService(defineService(types, criV1.services.ImageService, path), image);
  }
  if (events === 'cri') return { server, publish: criEvents.publish };
  if (events === 'none') return { server, publish: () => undefined };
  const containerd: EventStream = createContainerdEvents(containerdTypes, () => clock.now());
  server.addService(
    defineService(containerdTypes, containerdTable.services.Events, (path) => path),
    containerd.handlers,
  );
  return { server, publish: containerd.publish };
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
