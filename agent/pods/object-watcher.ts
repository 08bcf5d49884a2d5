/** Distributes changes of the desired state: pods to the manager, configuration objects to the pods that use
 *  them, rejected manifests to the events. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
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
  /** Refreshes the content of the volumes of a pod. Never rejects. */
  readonly refresh: (pod: Pod) => Promise<void>;
  /** Reports rejected manifests. */
  readonly report: (desired: DesiredState) => void;
  /** Object source of pods of an API server. */
  readonly server?: {
    readonly owns: (pod: Pod) => boolean;
    readonly onObjects: (listener: (changed: readonly ObjectKey[]) => void) => void;
  };
}

/** Subscribes for the lifetime of the agent. */
export function createObjectWatcher(deps: ObjectWatcherDeps): void {
  const { objects, sources, manager, volumes, refresh } = deps;

  /** @param concerns whether a pod uses objects of the changed source */
  function refreshUsers(changed: readonly ObjectKey[], concerns: (pod: Pod) => boolean): void {
    const keys = new Set(changed.map(formatObjectKey));
    // The pod does not name the volume of a claim, so every pod with claims is refreshed.
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

  function distribute(desired: DesiredState): void {
    objects.replace(desired.objects);
    manager.apply(desired);
    deps.report(desired);
  }

  objects.onChange((changed) => refreshUsers(changed, (pod) => deps.server?.owns(pod) !== true));
  deps.server?.onObjects((changed) => refreshUsers(changed, (pod) => deps.server?.owns(pod) === true));
  sources.onChange(distribute);
}
