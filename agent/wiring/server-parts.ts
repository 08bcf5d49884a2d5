/** Dependencies of pods on an API server. A standalone agent loads none of them. */

import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { Attacher, CsiVolumes } from '#volumes/contract/csi.ts';
import type { Expander } from '#volumes/contract/expansion.ts';
import type { AccountTokenOf } from '#volumes/contract/volume-manager.ts';
import type { Preemption, Refusal } from '../admission/admit.ts';
import type { ObjectKey } from '../objects/references.ts';
import type { PodSource, SourcePod } from '../sources/types.ts';

export interface ServerParts {
  readonly source: PodSource;
  /** Reports whether the pod is an API pod rather than a static one. */
  readonly owns: (pod: Pod) => boolean;
  /** ConfigMaps, Secrets and volumes for API pods. */
  readonly objects: ObjectReader;
  /** Calls the listener with changed objects of the server. */
  readonly onObjects: (listener: (changed: readonly ObjectKey[]) => void) => void;
  readonly accountToken: AccountTokenOf;
  /** CSIDriver objects. */
  readonly driverObject: CsiVolumes['driverObject'];
  readonly attacher: Attacher;
  /** Expands volumes and reports their new size to the server. */
  readonly expander: Expander;
  /** Returns the runtime handler of a pod with a RuntimeClass. */
  readonly runtimeHandler: (pod: Pod) => Promise<string>;
  /** Returns the environment variables of services. */
  readonly serviceEnv: (pod: Pod) => Promise<Readonly<Record<string, string>>>;
  /** Checks a new pod against the Node object: node selector, taints and capacity. */
  readonly refuse: (source: SourcePod, others: readonly SourcePod[]) => Refusal | Preemption | undefined;
  /** Called when nothing of a pod that is being deleted is left here. */
  readonly ended: (pod: Pod, status: PodStatus | undefined) => void;
}
