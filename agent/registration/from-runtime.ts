/** What the container runtime tells of itself and its images, over CRI. */
import type { ImageService, RuntimeService } from '#cri/gen/cri-v1.ts';
import type { NodeImage } from './node-images.ts';
import type { RuntimeReport } from './runtime-state.ts';

/** Asks the runtime for its version and its conditions.
 *  @throws CriError */
export function createRuntimeReader(
  runtime: Pick<RuntimeService, 'status' | 'version'>,
): (signal: AbortSignal) => Promise<RuntimeReport> {
  return async (signal) => {
    const [{ runtimeName, runtimeVersion }, { status }] = await Promise.all([
      runtime.version({ version: 'v1' }, { signal }),
      runtime.status({}, { signal }),
    ]);
    return { name: runtimeName, version: runtimeVersion, conditions: status?.conditions ?? [] };
  };
}

/** Asks the runtime for the images that it has.
 *  @throws CriError */
export function createImageReader(
  images: Pick<ImageService, 'listImages'>,
): (signal: AbortSignal) => Promise<readonly NodeImage[]> {
  return async (signal) => {
    const { images: found } = await images.listImages({}, { signal });
    return found.map(({ repoDigests, repoTags, size }) => ({
      digests: repoDigests,
      tags: repoTags,
      sizeBytes: Number(size),
    }));
  };
}
