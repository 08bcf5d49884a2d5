/** Dependencies of the pod operations. */

import type { LifecycleHandler, Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Limiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { PodCgroups } from '../../cgroups/pod-cgroups.ts';
import type { EventType } from '../../events/recorder.ts';
import type { ImageManager } from '../../images/image-manager.ts';
import type { LogLinks } from '../../logs/links.ts';
import type { Observer } from '../../observe/observer.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { Owner } from '../../pod-identity/labels.ts';
import type { ResourceManagers } from '../../resources/contract.ts';
import type { ContainerSettings } from '../../runtime/config/container.ts';
import type { DnsSettings } from '../../runtime/config/dns.ts';
import type { ResourceSettings } from '../../runtime/config/resources.ts';
import type { LostSandboxes } from '../../runtime/lost-sandboxes.ts';
import type { ContainerSpec } from '../decide/decision-types.ts';
import type { PodFiles } from '../pod-files.ts';

/** Node facts and configuration that pods depend on. */
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
  /** CPU cores of the machine. */
  readonly cores: number;
}

/** Records an event about a pod, or about one of its containers. */
export type PodEvent = (
  pod: Pod,
  type: EventType,
  reason: string,
  message: string,
  container?: Pick<ContainerSpec, 'name'>,
) => void;

/** Runs a lifecycle handler. @throws LifecycleError with the message of the event */
export type RunHandler = (
  handler: LifecycleHandler,
  target: { readonly pod: Pod; readonly container: ContainerSpec; readonly containerId: string },
  signal: AbortSignal,
) => Promise<void>;

export interface OperationDeps {
  /** Reports mounts and unmounts that take long. */
  readonly waits?: Pick<Waits, 'during'>;
  /** Sandboxes of lost agent instances, which may block the sandbox name of a pod. */
  readonly lost?: Pick<LostSandboxes, 'removeOf'>;
  readonly runtime: RuntimeService;
  readonly images: ImageManager;
  readonly volumes: VolumeManager;
  /** Assigns CPUs, NUMA memory and devices to containers. */
  readonly resources: Pick<ResourceManagers, 'grant' | 'started'>;
  /** Object source of a pod, by its origin. */
  readonly objectsOf: (pod: Pod) => ObjectReader;
  /** Runtime handler of a pod with a RuntimeClass. */
  readonly runtimeHandler: (pod: Pod) => Promise<string>;
  /** Service environment variables of a pod. Rejects until Services are known. */
  readonly serviceEnv: (pod: Pod) => Promise<Readonly<Record<string, string>>>;
  readonly view: RuntimeView;
  readonly observer: Pick<Observer, 'relist' | 'refreshContainer'>;
  readonly files: PodFiles;
  readonly links: LogLinks;
  readonly runHandler: RunHandler;
  readonly cgroups: Pick<PodCgroups, 'ensure' | 'remove'>;
  readonly event: PodEvent;
  /** Limits concurrent starts to the number at which the runtime is fastest. */
  readonly starts: Limiter;
  readonly settings: NodeSettings;
  readonly clock: Clock;
  readonly log: Logger;
}
