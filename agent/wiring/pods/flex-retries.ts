/** Retries pods that may be waiting for a flex driver. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { PodManager } from '../../pods/pod-manager.ts';

/** Reports whether the pod has a source that may resolve to a flex volume. */
const mayBeFlex = ({ spec }: Pod): boolean =>
  spec?.volumes?.some(
    ({ flexVolume, persistentVolumeClaim, ephemeral }) =>
      flexVolume !== undefined || persistentVolumeClaim !== undefined || ephemeral !== undefined,
  ) === true;

/** Retries pods whose volumes may be waiting for a flex driver. */
export function retryFlexPods(manager: PodManager, volumes: Pick<VolumeManager, 'retryPod'>): void {
  for (const worker of manager.workers()) {
    if (!mayBeFlex(worker.pod)) continue;
    volumes.retryPod(worker.pod.metadata?.uid ?? '');
    worker.retry();
  }
}
