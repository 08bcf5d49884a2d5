/** Images by ID, so that lists of containers report the digest of their image without further requests. */
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { DockerClient } from '../client/docker-client.ts';
import type { DockerImage } from '../client/parse.ts';

export interface ImageIndex {
  /** Returns the name with a digest if the image has one, otherwise its ID. */
  referenceOf(imageId: string): string;
  remember(image: DockerImage): void;
  /** Lists all images again. @throws DockerError */
  refresh(): Promise<readonly DockerImage[]>;
  /** Makes the reference of an image known. Never rejects. */
  ensure(imageId: string): Promise<void>;
}

export function createImageIndex(client: Pick<DockerClient, 'images'>): ImageIndex {
  const references = new Map<string, string>();
  const flights = createSingleFlight<readonly DockerImage[]>();

  function remember({ id, digests }: DockerImage): void {
    references.set(id, digests[0] ?? id);
  }

  async function list(): Promise<readonly DockerImage[]> {
    const images = await client.images();
    references.clear();
    for (const image of images) remember(image);
    return images;
  }

  const refresh = (): Promise<readonly DockerImage[]> => flights.run('', list);

  return {
    referenceOf: (imageId) => references.get(imageId) ?? imageId,
    remember,
    refresh,
    async ensure(imageId) {
      if (imageId === '' || references.has(imageId)) return;
      await refresh().catch(() => undefined);
      // An image that was removed by force.
      if (!references.has(imageId)) references.set(imageId, imageId);
    },
  };
}
