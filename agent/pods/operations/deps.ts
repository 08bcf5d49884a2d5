/** What the operations are made from. */
import type { Clock } from '#api/kit/clock.ts';
import type { Limiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { LifecycleHandler, Pod } from '#api/schema/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { VolumeManager } from '#volumes/types.ts';
import type { PodCgroups } from '../../cgroups/pod-cgroups.ts';
import type { EventType } from '../../events/recorder.ts';
import type { ImageManager } from '../../images/image-manager.ts';
import type { LogLinks } from '../../logs/links.ts';
import type { Observer } from '../../observe/observer.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { ResourceManagers } from '../../resources/contract.ts';
import type { ContainerSettings } from '../../runtime/config/container.ts';
import type { DnsSettings } from '../../runtime/config/dns.ts';
import type { Owner } from '../../runtime/config/labels.ts';
import type { ResourceSettings } from '../../runtime/config/resources.ts';
import type { LostSandboxes } from '../../runtime/lost-sandboxes.ts';
import type { ContainerSpec } from '../plan.ts';
import type { PodFiles } from '../pod-files.ts';

/** Facts of the node and the configuration that pods depend on. */
export interface NodeSettings {
  readonly owner: Owner;
  readonly vocabulary: Vocabulary;
  readonly podLogsDir: string;
  readonly container: ContainerSettings;
  readonly resources: ResourceSettings;
  readonly dns: () => Promise<DnsSettings>;
  readonly hostIPs: () => readonly string[];
  /** Allocatable amounts by resource name in base units. */
  readonly allocatable: () => Readonly<Record<string, number>>;
  /** Processor cores that the machine has. */
  readonly cores: number;
}

/** Notes an event about a pod, or about one of its containers. */
export type PodEvent = (
  pod: Pod,
  type: EventType,
  reason: string,
  message: string,
  container?: Pick<ContainerSpec, 'name'>,
) => void;

/** Runs a lifecycle handler. @throws LifecycleError with the message for the event */
export type RunHandler = (
  handler: LifecycleHandler,
  target: { readonly pod: Pod; readonly container: ContainerSpec; readonly containerId: string },
  signal: AbortSignal,
) => Promise<void>;

export interface OperationDeps {
  /** Shows volumes that are long in coming and going. */
  readonly waits?: Pick<Waits, 'during'>;
  /** Sandboxes that may stand in the way of a pod's. */
  readonly lost?: Pick<LostSandboxes, 'removeOf'>;
  readonly runtime: RuntimeService;
  readonly images: ImageManager;
  readonly volumes: VolumeManager;
  /** Processors, memory nodes and devices of containers. */
  readonly resources: Pick<ResourceManagers, 'grant' | 'started'>;
  /** Whose objects a pod uses depends on where it came from. */
  readonly objectsOf: (pod: Pod) => ObjectReader;
  /** The runtime's handler for a pod of a RuntimeClass. */
  readonly runtimeHandler: (pod: Pod) => Promise<string>;
  /** Variables that tell a pod of services. Rejects as long as they are not known. */
  readonly serviceEnv: (pod: Pod) => Promise<Readonly<Record<string, string>>>;
  readonly view: RuntimeView;
  readonly observer: Pick<Observer, 'relist' | 'refreshContainer'>;
  readonly files: PodFiles;
  readonly links: LogLinks;
  readonly runHandler: RunHandler;
  readonly cgroups: Pick<PodCgroups, 'ensure' | 'remove'>;
  readonly event: PodEvent;
  /** Keeps the runtime at the number of starts at once at which it is fastest. */
  readonly starts: Limiter;
  readonly settings: NodeSettings;
  readonly clock: Clock;
  readonly log: Logger;
}
