/** Builds the systems that the end-to-end tests boot, where they are missing: mostly waiting for a mirror, which other
 *  tests need not wait for. */
import { cachedVmImage } from './vm/image.ts';

await cachedVmImage();
