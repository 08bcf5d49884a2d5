/** The end of pods with disks, on a machine where others are at work. */
import { asError } from '#api/kit/clock.ts';
import { eventually } from '../../../testing/wait.ts';
import type { VolumeManager } from '../../types.ts';

/** Takes the pod's volumes down, of which some are disks. Others of this machine, such as a container that starts, may
 *  have a disk for a moment after its last mount is gone; then it is not detached yet, and nothing else is waited for. */
export async function takenDown(manager: VolumeManager, podUID: string): Promise<void> {
  const failure = await eventually(async () => {
    manager.retryPod(podUID);
    try {
      await manager.unmountPod(podUID);
      return 'none' as const;
    } catch (thrown) {
      const error = asError(thrown);
      if (error.message.includes('is still in use, so it is not detached')) throw error;
      return error;
    }
  });
  if (failure !== 'none') throw failure;
}
