/** Responses of the pod-resources API. Pure. Source: podresources.v1; upstream's server, release 1.24. */
import type { Pod } from '#api/gen/core-v1.ts';
import type {
  AllocatableResourcesResponse,
  ContainerDevices,
  ContainerMemory,
  ListPodResourcesResponse,
} from '#cri/gen/podresources-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { AllocatedMemory, AllocatedResources } from '../contract.ts';
import type { AllocatedDevices } from '../devices/manager.ts';

export interface PodResourceSources {
  readonly pods: () => readonly Pod[];
  readonly held: (podUID: string, container: string) => AllocatedResources;
  /** Upper bounds for guaranteed pods. */
  readonly most: () => AllocatedResources;
  readonly heldDevices: (podUID: string, container: string) => readonly AllocatedDevices[];
  readonly allocatableDevices: () => readonly AllocatedDevices[];
}

const topology = (nodes: readonly number[]) =>
  nodes.length === 0 ? {} : { topology: { nodes: nodes.map((node) => ({ ID: BigInt(node) })) } };

/** One entry per device, each with its own nodes. */
const devicesOf = (held: readonly AllocatedDevices[]): readonly MessageInput<ContainerDevices>[] =>
  held.flatMap(({ resource: resourceName, devices }) =>
    devices.map(({ id, nodes }) => ({ resourceName, deviceIds: [id], ...topology(nodes) })),
  );

const memoryOf = (held: readonly AllocatedMemory[]): readonly MessageInput<ContainerMemory>[] =>
  held.map(({ type, sizeBytes, nodes }) => ({
    memoryType: type,
    size: BigInt(sizeBytes),
    ...topology(nodes),
  }));

const cpusOf = ({ cpus }: AllocatedResources): readonly bigint[] => cpus.map(BigInt);

/** Returns the allocations of all pods. */
export function listResponse(sources: PodResourceSources): MessageInput<ListPodResourcesResponse> {
  return {
    podResources: sources.pods().map(({ metadata, spec }) => {
      const { name = '', namespace = '', uid = '' } = metadata ?? {};
      const containers = (spec?.containers ?? []).map((container) => {
        const held = sources.held(uid, container.name);
        return {
          name: container.name,
          devices: devicesOf(sources.heldDevices(uid, container.name)),
          cpuIds: cpusOf(held),
          memory: memoryOf(held.memory),
        };
      });
      return { name, namespace, containers };
    }),
  };
}

/** The same without members that v1alpha1 lacks. */
export function oldListResponse(sources: PodResourceSources): MessageInput<ListPodResourcesResponse> {
  const none: AllocatedResources = { cpus: [], memory: [] };
  const heldDevices: PodResourceSources['heldDevices'] = (podUID, container) =>
    sources
      .heldDevices(podUID, container)
      .map(({ resource, devices }) => ({ resource, devices: devices.map(({ id }) => ({ id, nodes: [] })) }));
  return listResponse({ ...sources, held: () => none, heldDevices });
}

/** Returns the allocatable resources, including those in use. */
export function allocatableResponse(sources: PodResourceSources): MessageInput<AllocatableResourcesResponse> {
  const most = sources.most();
  return {
    devices: devicesOf(sources.allocatableDevices()),
    cpuIds: cpusOf(most),
    memory: memoryOf(most.memory),
  };
}
