/** What the pods' side of the agent takes from an API server. A standalone agent has none of it, and loads nothing. */
import type { Pod, PodStatus } from '#api/schema/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { Attacher, CsiVolumes } from '#volumes/csi/contract.ts';
import type { Expander } from '#volumes/expansion/expander.ts';
import type { AccountTokenOf } from '#volumes/types.ts';
import type { Preemption, Refusal } from '../admission/admit.ts';
import type { ObjectKey } from '../objects/references.ts';
import type { PodSource, SourcePod } from '../sources/types.ts';

export interface ServerParts {
  readonly source: PodSource;
  /** Whether the pod is one of the server's, and not a static one. */
  readonly owns: (pod: Pod) => boolean;
  /** ConfigMaps, Secrets and volumes for the server's pods. */
  readonly objects: ObjectReader;
  /** Calls the listener with objects of the server that have changed. */
  readonly onObjects: (listener: (changed: readonly ObjectKey[]) => void) => void;
  readonly accountToken: AccountTokenOf;
  /** CSIDriver objects. */
  readonly driverObject: CsiVolumes['driverObject'];
  readonly attacher: Attacher;
  /** Lets volumes grow, and tells the server. */
  readonly expander: Expander;
  /** The runtime's handler for a pod of a RuntimeClass. */
  readonly runtimeHandler: (pod: Pod) => Promise<string>;
  /** Variables that tell a pod of services. */
  readonly serviceEnv: (pod: Pod) => Promise<Readonly<Record<string, string>>>;
  /** What the node's state on the server says about a new pod: it does not belong here, or there is no room. */
  readonly refuse: (source: SourcePod, others: readonly SourcePod[]) => Refusal | Preemption | undefined;
  /** Nothing of a pod that is to be deleted is left here. */
  readonly ended: (pod: Pod, status: PodStatus | undefined) => void;
}
