/** What the pod-resources socket answers. Pure. Source: podresources.v1; upstream's server, release 1.24. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type {
  AllocatableResourcesResponse,
  ContainerDevices,
  ContainerMemory,
  ListPodResourcesResponse,
} from '#cri/gen/podresources-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { HeldMemory, HeldResources } from '../contract.ts';
import type { HeldDevices } from '../devices/manager.ts';

export interface PodResourceSources {
  readonly pods: () => readonly Pod[];
  readonly held: (podUID: string, container: string) => HeldResources;
  /** What guaranteed pods may have at most. */
  readonly most: () => HeldResources;
  readonly heldDevices: (podUID: string, container: string) => readonly HeldDevices[];
  readonly allocatableDevices: () => readonly HeldDevices[];
}

const topology = (nodes: readonly number[]) =>
  nodes.length === 0 ? {} : { topology: { nodes: nodes.map((node) => ({ ID: BigInt(node) })) } };

/** One entry a device, each with its own nodes. */
const devicesOf = (held: readonly HeldDevices[]): readonly MessageInput<ContainerDevices>[] =>
  held.flatMap(({ resource: resourceName, devices }) =>
    devices.map(({ id, nodes }) => ({ resourceName, deviceIds: [id], ...topology(nodes) })),
  );

const memoryOf = (held: readonly HeldMemory[]): readonly MessageInput<ContainerMemory>[] =>
  held.map(({ type, sizeBytes, nodes }) => ({
    memoryType: type,
    size: BigInt(sizeBytes),
    ...topology(nodes),
  }));

const cpusOf = ({ cpus }: HeldResources): readonly bigint[] => cpus.map(BigInt);

/** Who has what. */
export function listAnswer(sources: PodResourceSources): MessageInput<ListPodResourcesResponse> {
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

/** The same without what the first version does not have. */
export function oldListAnswer(sources: PodResourceSources): MessageInput<ListPodResourcesResponse> {
  const none: HeldResources = { cpus: [], memory: [] };
  const heldDevices: PodResourceSources['heldDevices'] = (podUID, container) =>
    sources
      .heldDevices(podUID, container)
      .map(({ resource, devices }) => ({ resource, devices: devices.map(({ id }) => ({ id, nodes: [] })) }));
  return listAnswer({ ...sources, held: () => none, heldDevices });
}

/** What there is to be had, also of that which is in use. */
export function allocatableAnswer(sources: PodResourceSources): MessageInput<AllocatableResourcesResponse> {
  const most = sources.most();
  return {
    devices: devicesOf(sources.allocatableDevices()),
    cpuIds: cpusOf(most),
    memory: memoryOf(most.memory),
  };
}
