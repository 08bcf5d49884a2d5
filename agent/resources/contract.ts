/** What hands out the node's resources to containers: processors, memory nodes, devices. Types and refusals only.
 *
 *  Admission chooses and books, at once and without I/O; the start of a container asks for what was booked and may
 *  take its time. Providers know one resource each, the managers (`resource-managers.ts`) bring them together, so that
 *  what a container gets lies on the same memory nodes. Source: upstream's topology manager, release 1.24. */
import type { Container, Pod } from '#api/schema/gen/core-v1.ts';
import type { Device, LinuxContainerResources, Mount } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { Refusal } from '../admission/admit.ts';
import type { ProviderHints, TopologyHint } from './topology/hints.ts';

/** A container that wants resources. */
export interface ContainerRequest {
  readonly pod: Pod;
  readonly container: Container;
  /** An init container that ends before the others start: what it had can be theirs. */
  readonly init: boolean;
}

/** What a container gets when it is made. Everything may be left out. */
export interface ContainerGrant {
  /** As in `cpuset.cpus`; empty leaves it to the runtime. */
  readonly cpusetCpus?: string;
  /** As in `cpuset.mems`; empty leaves it to the runtime. */
  readonly cpusetMems?: string;
  readonly devices?: readonly Device[];
  readonly mounts?: readonly MessageInput<Mount>[];
  /** The container's own variables of the same names go before these. */
  readonly env?: Readonly<Record<string, string>>;
  /** For the runtime. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A container that can't have what it asks for; the pod is shown as failed with the reason. */
export class ResourceRefusal extends Error {
  override readonly name: string = 'ResourceRefusal';
  /** Upstream's word, such as `UnexpectedAdmissionError`. */
  readonly reason: string;

  constructor(reason: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** Resources that the node has beside those that it always has. Quantities by name. */
export interface ExtendedResources {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  /** Names of resources that were here and are gone for good. */
  readonly removed: readonly string[];
  /** Nobody here knows what there was before: what the node told of it is void until it is there again. */
  readonly forgotten?: true;
}

/** Hands out one kind of resource. What is booked must outlive the agent before `grant` resolves. */
export interface ResourceProvider {
  /** For logs, such as `cpu`. */
  readonly name: string;
  /** Where the container could have what it asks for; a container that has it already stays where it is. */
  hints(request: ContainerRequest): ProviderHints;
  /** The same for all containers of the pod together. */
  podHints(pod: Pod): ProviderHints;
  /** Chooses and books. A container that has its resources already keeps them: nothing changes.
   *  @param where the memory nodes on which it was found to go with everything else
   *  @throws ResourceRefusal */
  allocate(request: ContainerRequest, where: TopologyHint): void;
  /** Pods that hold something, by UID. */
  holders(): ReadonlySet<string>;
  /** The pod is gone, or was not taken on after all: gives back what it holds. Unknown pods are fine. */
  release(podUID: string): void;
  /** What the container gets at this start. Rejects when it can't be had now; the start is tried again later. */
  grant?(request: ContainerRequest): Promise<ContainerGrant>;
  /** The container was made and is about to run. */
  started?(podUID: string, container: string, containerId: string): void;
  resources?(): ExtendedResources;
  /** The node is known with these resources. */
  told?(): void;
  /** Calls the listener when `resources` has other answers. @returns a function that ends this */
  onChange?(listener: () => void): () => void;
  /** Works until the signal fires. */
  run?(signal: AbortSignal): Promise<void>;
}

/** What a container has of its own, for those who tell of it. */
export interface HeldResources {
  /** Processors of its own, in order; none for one that shares. */
  readonly cpus: readonly number[];
  readonly memory: readonly HeldMemory[];
}

export interface HeldMemory {
  /** `memory` or `hugepages-2Mi`. */
  readonly type: string;
  readonly sizeBytes: number;
  readonly nodes: readonly number[];
}

/** The node's resources as the rest of the agent sees them. */
export interface ResourceManagers {
  /** Whether the node has what the pod's containers ask for; if so it is booked for them. Never called for pods that
   *  run already. */
  admit(pod: Pod): Refusal | undefined;
  /** A pod of an earlier agent: it keeps what it has, and is never refused. */
  adopt(pod: Pod): void;
  /** What the container gets at this start. Rejects when it can't be had now. */
  grant(pod: Pod, container: { readonly name: string }): Promise<ContainerGrant>;
  /** The container was made and is about to run. */
  started(podUID: string, container: string, containerId: string): void;
  release(podUID: string): void;
  /** Releases all pods that hold something and are not among these, which are asked for when anything is held. */
  keepOnly(here: () => ReadonlySet<string>): void;
  resources(): ExtendedResources;
  /** The node is known with these resources. */
  told(): void;
  /** Calls the listener when `resources` has other answers. @returns a function that ends this */
  onChange(listener: () => void): () => void;
  held(podUID: string, container: string): HeldResources;
  /** What guaranteed pods may have at most: processors, and memory by node. */
  most(): HeldResources;
  run(signal: AbortSignal): Promise<void>;
}

/** CRI resources with what was granted. */
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

/** Several grants as one. Of cpusets the last one that says something counts; of all else everything, the first of
 *  equal names. */
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

/** The first of equal names counts. */
export function joinRecords(
  records: readonly Readonly<Record<string, string>>[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(records.toReversed().flatMap((record) => Object.entries(record)));
}
