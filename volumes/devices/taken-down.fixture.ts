/** Teardown of pods with disks, on a machine with other activity. */
import { asError } from '#api/kit/errno.ts';
import { eventually } from '../../testing/wait.ts';
import type { VolumeManager } from '../contract/volume-manager.ts';

/** Unmounts the pod's volumes, some of which are disks. Another process, such as a starting container, may
 *  hold a disk for a moment after its last unmount; only the resulting detach error is retried. */
export async function unmounted(manager: VolumeManager, podUID: string): Promise<void> {
  const failure = await eventually(async () => {
    manager.retryPod(podUID);
    try {
      await manager.unmountPod(podUID);
      return 'none' as const;
    } catch (thrown) {
      const error = asError(thrown);
      if (error.message.includes(': still in use')) throw error;
      return error;
    }
  });
  if (failure !== 'none') throw failure;
}
