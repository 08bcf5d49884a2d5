/** Unmounting of a disk, on a machine with other activity. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { eventually } from '../../testing/wait.ts';

/** Waits until the device is unused: a starting container holds every mount for a moment, even after it
 *  was unmounted here. The kernel grants exclusive access to one owner only. */
export async function untilUnused(device: string): Promise<void> {
  await eventually(
    async () => {
      await (await open(device, constants.O_RDONLY | constants.O_EXCL)).close();
      return true;
    },
    { what: `${device} is unused` },
  );
}
