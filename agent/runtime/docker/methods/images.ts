/** Methods of images. */
import type {
  Image,
  ImageFsInfoResponse,
  ImageStatusRequest,
  ImageStatusResponse,
  ListImagesRequest,
  ListImagesResponse,
  PullImageRequest,
  PullImageResponse,
  RemoveImageRequest,
} from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { DockerImage } from '../client/parse.ts';
import { type DockerContext, nowNs } from '../context.ts';
import { pullImage } from '../images/pull.ts';

/** Number of a user; undefined for a name. */
const NUMBER = /^\d{1,10}$/;

function viewImage(image: DockerImage, pinned: boolean): MessageInput<Image> {
  const [user = ''] = image.user.split(':');
  return {
    id: image.id,
    repoTags: image.tags,
    repoDigests: image.digests,
    size: BigInt(image.sizeBytes),
    ...(NUMBER.test(user) ? { uid: { value: BigInt(user) } } : { username: user }),
    pinned,
  };
}

export interface ImageMethods {
  listImages(request: ListImagesRequest): Promise<MessageInput<ListImagesResponse>>;
  imageStatus(request: ImageStatusRequest): Promise<MessageInput<ImageStatusResponse>>;
  pullImage(request: PullImageRequest): Promise<MessageInput<PullImageResponse>>;
  removeImage(request: RemoveImageRequest): Promise<object>;
  imageFsInfo(): Promise<MessageInput<ImageFsInfoResponse>>;
}

export function imageMethods(context: DockerContext): ImageMethods {
  const { client, clock, images } = context;
  const isPinned = ({ tags }: DockerImage): boolean => tags.includes(context.sandboxImage);

  async function find(name: string): Promise<DockerImage | undefined> {
    const image = name === '' ? undefined : await client.image(name);
    if (image !== undefined) images.remember(image);
    return image;
  }

  return {
    async listImages({ filter }) {
      const name = filter?.image?.image ?? '';
      const found = name === '' ? await images.refresh() : [await find(name)];
      return { images: found.filter((one) => one !== undefined).map((one) => viewImage(one, isPinned(one))) };
    },
    async imageStatus({ image }) {
      const found = await find(image?.image ?? '');
      return found === undefined ? {} : { image: viewImage(found, isPinned(found)) };
    },
    async pullImage({ image, auth }) {
      return { imageRef: (await pullImage(context, { image: image?.image ?? '', auth })).id };
    },
    async removeImage({ image }) {
      const found = await find(image?.image ?? '');
      if (found === undefined) return {};
      // Docker rejects an ID that has several names.
      for (const name of found.tags) await client.removeImage(name);
      for (const name of found.digests) await client.removeImage(name);
      if (found.tags.length + found.digests.length === 0) await client.removeImage(found.id);
      return {};
    },
    async imageFsInfo() {
      const { rootDir } = context.daemon();
      // Layers that images share count for each of them.
      const used = (await images.refresh()).reduce((total, { sizeBytes }) => total + sizeBytes, 0);
      const usage = {
        timestamp: nowNs(clock),
        fsId: { mountpoint: rootDir },
        usedBytes: { value: BigInt(used) },
        inodesUsed: { value: 0n },
      };
      return { imageFilesystems: [usage], containerFilesystems: [usage] };
    },
  };
}
