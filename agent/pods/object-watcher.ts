/** Carries changes of the desired state to the pods: pods to the manager, configuration objects to those pods that
 *  use them, and rejected manifests to the events. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { VolumeManager } from '#volumes/types.ts';
import { formatObjectKey, type ObjectKey, objectReferences } from '../objects/references.ts';
import type { ObjectStore } from '../objects/store.ts';
import type { SourceManager } from '../sources/manager.ts';
import type { DesiredState } from '../sources/types.ts';
import type { PodManager } from './pod-manager.ts';

export interface ObjectWatcherDeps {
  readonly objects: ObjectStore;
  readonly sources: Pick<SourceManager, 'onChange'>;
  readonly manager: PodManager;
  readonly volumes: Pick<VolumeManager, 'retryPod'>;
  /** Renews the content of a pod's volumes. Never rejects. */
  readonly refresh: (pod: Pod) => Promise<void>;
  /** Tells of manifests that cannot be used. */
  readonly report: (desired: DesiredState) => void;
  /** Where pods of an API server have their objects from. */
  readonly server?: {
    readonly owns: (pod: Pod) => boolean;
    readonly onObjects: (listener: (changed: readonly ObjectKey[]) => void) => void;
  };
}

/** Subscribes for the life of the agent. */
export function createObjectWatcher(deps: ObjectWatcherDeps): void {
  const { objects, sources, manager, volumes, refresh } = deps;

  /** @param concerns whether a pod uses objects from there */
  function renew(changed: readonly ObjectKey[], concerns: (pod: Pod) => boolean): void {
    const keys = new Set(changed.map(formatObjectKey));
    // Which volume a claim leads to is no matter of the pod's: all that have claims look again.
    const hasVolumes = changed.some(({ kind }) => kind === 'PersistentVolume');
    const isChanged = (key: ObjectKey): boolean =>
      keys.has(formatObjectKey(key)) || (hasVolumes && key.kind === 'PersistentVolumeClaim');
    const uses = (pod: Pod): boolean => concerns(pod) && objectReferences(pod).some(isChanged);
    for (const worker of manager.workers().filter(({ pod }) => uses(pod))) {
      void refresh(worker.pod);
      volumes.retryPod(worker.pod.metadata?.uid ?? '');
      worker.retry();
    }
  }

  objects.onChange((changed) => renew(changed, (pod) => deps.server?.owns(pod) !== true));
  deps.server?.onObjects((changed) => renew(changed, (pod) => deps.server?.owns(pod) === true));
  sources.onChange((desired) => {
    objects.replace(desired.objects);
    manager.apply(desired);
    deps.report(desired);
  });
}
