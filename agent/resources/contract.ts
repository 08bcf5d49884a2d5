/** Contract of the resource managers, which assign CPUs, NUMA memory and devices to containers. Types and
 *  errors only.
 *
 *  Admission chooses and reserves resources synchronously and without I/O; the start of a container fetches
 *  its grant and may take time. Each provider knows one kind of resource; `resource-managers.ts` combines
 *  them, so that the resources of a container are aligned on the same NUMA nodes. Source: upstream's topology
 *  manager, release 1.24. */
import type { Container, Pod } from '#api/gen/core-v1.ts';
import type { Device, LinuxContainerResources, Mount } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { Refusal } from '../admission/admit.ts';
import type { ExtendedResources } from '../machine/extended-resources.ts';
import type { ProviderHints, TopologyHint } from './topology/hints.ts';

/** A container that requests resources. */
export interface ContainerRequest {
  readonly pod: Pod;
  readonly container: Container;
  /** An init container that terminates before the others start: they can reuse its resources. */
  readonly init: boolean;
}

/** Resources granted to a container at its creation. All members are optional. */
export interface ContainerGrant {
  /** In the form of `cpuset.cpus`; empty leaves it to the runtime. */
  readonly cpusetCpus?: string;
  /** In the form of `cpuset.mems`; empty leaves it to the runtime. */
  readonly cpusetMems?: string;
  readonly devices?: readonly Device[];
  readonly mounts?: readonly MessageInput<Mount>[];
  /** Variables of the container with the same names take precedence. */
  readonly env?: Readonly<Record<string, string>>;
  /** Annotations for the runtime. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The request of a container cannot be satisfied; the pod fails with the reason. */
export class ResourceRefusal extends Error {
  override readonly name: string = 'ResourceRefusal';
  /** Upstream's reason, such as `UnexpectedAdmissionError`. */
  readonly reason: string;

  constructor(reason: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** Provider of one kind of resource. Reservations must be persisted before `grant` resolves. */
export interface ResourceProvider {
  /** For logs, such as `cpu`. */
  readonly name: string;
  /** Returns the NUMA placements that satisfy the request of the container; its existing resources stay in
   *  place. */
  hints(request: ContainerRequest): ProviderHints;
  /** The same for all containers of the pod together. */
  podHints(pod: Pod): ProviderHints;
  /** Chooses and reserves. A container that has its resources already retains them unchanged.
   *  @param where NUMA nodes that the merged hints selected
   *  @throws ResourceRefusal */
  allocate(request: ContainerRequest, where: TopologyHint): void;
  /** UIDs of pods with reservations. */
  holders(): ReadonlySet<string>;
  /** Releases the reservations of a pod that was removed or rejected. Unknown pods are ignored. */
  release(podUID: string): void;
  /** Returns the resources for this start. Rejects when they are unavailable now; the start is retried later.
   */
  grant?(request: ContainerRequest): Promise<ContainerGrant>;
  /** Called when the container has been created and is about to run. */
  started?(podUID: string, container: string, containerId: string): void;
  resources?(): ExtendedResources;
  /** Called when the node status with these resources has been written. */
  statusWritten?(): void;
  /** Calls the listener when `resources` changes. @returns a function that unsubscribes */
  onChange?(listener: () => void): () => void;
  /** Runs until the signal fires. */
  run?(signal: AbortSignal): Promise<void>;
}

/** Resources allocated exclusively to a container, for reporting. */
export interface AllocatedResources {
  /** Exclusive CPUs, in order; empty for a container in the shared pool. */
  readonly cpus: readonly number[];
  readonly memory: readonly AllocatedMemory[];
}

export interface AllocatedMemory {
  /** `memory` or `hugepages-2Mi`. */
  readonly type: string;
  readonly sizeBytes: number;
  readonly nodes: readonly number[];
}

/** Facade of the resource managers for the rest of the agent. */
export interface ResourceManagers {
  /** Checks whether the node can satisfy the containers of the pod and reserves their resources. Never called
   *  for running pods. */
  admit(pod: Pod): Refusal | undefined;
  /** Registers a pod of an earlier run: it retains its resources and is never rejected. */
  adopt(pod: Pod): void;
  /** Returns the resources for this start. Rejects when they are unavailable now. */
  grant(pod: Pod, container: { readonly name: string }): Promise<ContainerGrant>;
  /** Called when the container has been created and is about to run. */
  started(podUID: string, container: string, containerId: string): void;
  release(podUID: string): void;
  /** Releases the reservations of all pods that are not listed; the list is only requested when reservations
   *  exist. */
  retainOnly(here: () => ReadonlySet<string>): void;
  resources(): ExtendedResources;
  /** Called when the node status with these resources has been written. */
  statusWritten(): void;
  /** Calls the listener when `resources` changes. @returns a function that unsubscribes */
  onChange(listener: () => void): () => void;
  held(podUID: string, container: string): AllocatedResources;
  /** Upper bounds for guaranteed pods: CPUs, and memory by NUMA node. */
  most(): AllocatedResources;
  run(signal: AbortSignal): Promise<void>;
}

/** Returns the CRI resources with those of the grant. */
export function withGrant(
  resources: MessageInput<LinuxContainerResources>,
  { cpusetCpus = '', cpusetMems = '' }: ContainerGrant,
): MessageInput<LinuxContainerResources> {
  return {
    ...resources,
    ...(cpusetCpus === '' ? {} : { cpusetCpus }),
    ...(cpusetMems === '' ? {} : { cpusetMems }),
  };
}

/** Merges grants. The last non-empty cpuset wins; everything else is concatenated, with the first of equal
 *  names winning. */
export function joinGrants(grants: readonly ContainerGrant[]): ContainerGrant {
  const joined = { cpusetCpus: '', cpusetMems: '' };
  for (const { cpusetCpus, cpusetMems } of grants) {
    joined.cpusetCpus = cpusetCpus || joined.cpusetCpus;
    joined.cpusetMems = cpusetMems || joined.cpusetMems;
  }
  return {
    ...joined,
    devices: grants.flatMap(({ devices = [] }) => devices),
    mounts: grants.flatMap(({ mounts = [] }) => mounts),
    env: joinRecords(grants.map(({ env = {} }) => env)),
    annotations: joinRecords(grants.map(({ annotations = {} }) => annotations)),
  };
}

/** The first of equal names wins. */
export function joinRecords(
  records: readonly Readonly<Record<string, string>>[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(records.toReversed().flatMap((record) => Object.entries(record)));
}
