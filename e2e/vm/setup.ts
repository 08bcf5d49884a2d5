/** Set-up of the VM tests, which run in parallel: builds their shared disk. */
import { cachedVmImage } from './image.ts';

export default async function setup(): Promise<void> {
  await cachedVmImage();
}
