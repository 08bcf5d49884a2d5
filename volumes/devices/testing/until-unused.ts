/** The end of a mount of a disk, on a machine where others are at work. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { eventually } from '../../../testing/wait.ts';

/** Waits until nobody has the device: a container that starts has all that is mounted for a moment, also after it was
 *  unmounted here. The kernel lends a device to one owner alone. */
export async function untilUnused(device: string): Promise<void> {
  await eventually(
    async () => {
      await (await open(device, constants.O_RDONLY | constants.O_EXCL)).close();
      return true;
    },
    { what: `nobody has ${device}` },
  );
}
