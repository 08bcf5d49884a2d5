/** Before the tests in VMs, which run at the same time: the disk that they share is there. */
import { cachedVmImage } from './image.ts';

export default async function setup(): Promise<void> {
  await cachedVmImage();
}
