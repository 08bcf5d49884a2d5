/** Pods that may be waiting for a flex driver. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { VolumeManager } from '#volumes/types.ts';
import type { PodManager } from '../pods/pod-manager.ts';

/** Sources that may come to a flex volume. */
const mayBeFlex = ({ spec }: Pod): boolean =>
  spec?.volumes?.some(
    ({ flexVolume, persistentVolumeClaim, ephemeral }) =>
      flexVolume !== undefined || persistentVolumeClaim !== undefined || ephemeral !== undefined,
  ) === true;

/** Has pods whose volumes may be waiting for a flex driver try them again. */
export function retryFlexPods(manager: PodManager, volumes: Pick<VolumeManager, 'retryPod'>): void {
  for (const worker of manager.workers()) {
    if (!mayBeFlex(worker.pod)) continue;
    volumes.retryPod(worker.pod.metadata?.uid ?? '');
    worker.retry();
  }
}
