/** Status and images of the container runtime, over CRI. */
import type { ImageService, RuntimeService } from '#cri/gen/cri-v1.ts';
import type { NodeImage } from './node-images.ts';
import type { RuntimeReport } from './runtime-state.ts';

/** Queries the version and the conditions of the runtime.
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

/** Lists the images of the runtime.
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
