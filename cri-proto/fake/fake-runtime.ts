/** Fake runtime without a socket: its state, test controls, and its services as gRPC handlers. */
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { MessageTypes } from '#api/codec/protobuf/message.ts';
import type { Clock } from '#api/kit/clock.ts';
import containerdTable from '../data/containerd-events.json' with { type: 'json' };
import criV1 from '../data/cri-v1.json' with { type: 'json' };
import type { RuntimeCondition } from '../gen/cri-v1.ts';
import { defineService } from '../server/define-service.ts';
import type { StoreEvent } from './container-store.ts';
import { createContainerdEvents, createCriEvents } from './event-streams.ts';
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
import type { FakeUsage } from './views.ts';

/** State and controls for tests. */
export interface FakeControls {
  readonly faults: Faults;
  /** Sandboxes and containers; `pods.exitContainer` ends a container, `pods.stopSandbox` a sandbox. */
  readonly pods: PodStore;
  readonly images: ImageStore;
  /** Reaction of a container to StopContainer; default exit code 143. */
  readonly setStopBehaviour: (containerId: string, behaviour: StopBehaviour) => void;
  /** Response of ExecSync; default exit code 0. */
  readonly setExec: (exec: RuntimeHandlerDeps['exec']) => void;
  readonly setUsage: (containerId: string, usage: FakeUsage) => void;
  readonly setConditions: (conditions: readonly RuntimeCondition[]) => void;
}

export interface FakeRuntime {
  readonly controls: FakeControls;
  readonly handlerDeps: RuntimeHandlerDeps;
  /** Passes events to this function, in place of the previous one. */
  readonly subscribe: (publish: (event: StoreEvent) => void) => void;
}

const READY: readonly RuntimeCondition[] = [
  { type: criV1.constants.RuntimeReady.value, status: true, reason: '', message: '' },
  { type: criV1.constants.NetworkReady.value, status: true, reason: '', message: '' },
];

/** @param keepCalls whether `faults.calls` records every call; default true */
export function createFakeRuntime(clock: Clock, keepCalls = true): FakeRuntime {
  const images = createImageStore();
  const faults = createFaults(clock, keepCalls);
  const stopBehaviours = new Map<string, StopBehaviour>();
  const usages = new Map<string, FakeUsage>();
  let exec: RuntimeHandlerDeps['exec'] = (): FakeExecResult => ({ exitCode: 0 });
  let conditions = READY;
  let publish: (event: StoreEvent) => void = () => undefined;
  const pods = createPodStore({ now: () => clock.now(), onEvent: (event) => publish(event) });
  return {
    handlerDeps: {
      clock,
      faults,
      pods,
      images,
      stopBehaviour: (id) => stopBehaviours.get(id) ?? { kind: 'exits', exitCode: 143 },
      exec: (id, command) => exec(id, command),
      usage: (id) => usages.get(id) ?? { cpuNanoseconds: 0, memoryBytes: 0 },
      conditions: () => conditions,
      streamingUrl: 'http://127.0.0.1:1',
    },
    controls: {
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
    },
    subscribe(next) {
      publish = next;
    },
  };
}

export interface ServiceOptions {
  /** Supported versions; default `v1`. */
  readonly versions?: readonly ('v1' | 'v1alpha2')[];
  /** Event method; default `containerd`. */
  readonly events?: 'cri' | 'containerd' | 'none';
}

export interface FakeService {
  readonly definition: ServiceDefinition;
  readonly handlers: UntypedServiceImplementation;
}

export interface FakeServices {
  readonly services: readonly FakeService[];
  /** Writes an event to the open streams. */
  readonly publish: (event: StoreEvent) => void;
}

/** Message types of both services, which instances in one process may share. */
export interface FakeTypes {
  readonly cri: MessageTypes;
  readonly containerd: MessageTypes;
}

export function fakeServices(
  deps: RuntimeHandlerDeps,
  types: FakeTypes,
  { versions = ['v1'], events = 'containerd' }: ServiceOptions,
): FakeServices {
  const { clock, pods, faults, images } = deps;
  const criEvents = createCriEvents(pods, () => clock.now());
  const runtime = createRuntimeHandlers(deps);
  const image = createImageHandlers({ clock, faults, images, usedBytes: () => 0 });
  const services = versions.flatMap((version): FakeService[] => {
    const path = (v1: string): string => v1.replace('.v1.', `.${version}.`);
    const hasEvents = version === 'v1' && events === 'cri';
    return [
      {
        definition: defineService(types.cri, criV1.services.RuntimeService, path),
        handlers: hasEvents ? { ...runtime, ...criEvents.handlers } : runtime,
      },
      { definition: defineService(types.cri, criV1.services.ImageService, path), handlers: image },
    ];
  });
  if (events === 'cri') return { services, publish: criEvents.publish };
  if (events === 'none') return { services, publish: () => undefined };
  const containerd = createContainerdEvents(types.containerd, () => clock.now());
  const definition = defineService(types.containerd, containerdTable.services.Events, (path) => path);
  return {
    services: [...services, { definition, handlers: containerd.handlers }],
    publish: containerd.publish,
  };
}
