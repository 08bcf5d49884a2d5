/** The image service of the fake. */
import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Clock } from '#api/kit/clock.ts';
import type * as cri from '../gen/cri-v1.ts';
import type { FaultInjector } from './faults.ts';
import type { ImageStore } from './image-store.ts';
import { serve } from './serve.ts';

export interface ImageHandlerDeps {
  readonly clock: Clock;
  readonly faults: FaultInjector;
  readonly images: ImageStore;
  readonly usedBytes: () => number;
}

export function createImageHandlers(deps: ImageHandlerDeps): UntypedServiceImplementation {
  const { faults, images, clock } = deps;
  return {
    listImages: serve<cri.ListImagesRequest, cri.ListImagesResponse>(faults, 'ListImages', ({ filter }) => ({
      images: images.list(filter?.image),
    })),
    imageStatus: serve<cri.ImageStatusRequest, cri.ImageStatusResponse>(
      faults,
      'ImageStatus',
      ({ image }) => ({ image: images.find(image?.image ?? '') }),
    ),
    pullImage: serve<cri.PullImageRequest, cri.PullImageResponse>(faults, 'PullImage', ({ image }) => ({
      imageRef: images.pull(image?.image ?? '').id,
    })),
    removeImage: serve<cri.RemoveImageRequest, cri.RemoveImageResponse>(
      faults,
      'RemoveImage',
      ({ image }) => {
        images.remove(image?.image ?? '');
        return {};
      },
    ),
    imageFsInfo: serve<cri.ImageFsInfoRequest, cri.ImageFsInfoResponse>(faults, 'ImageFsInfo', () => ({
      imageFilesystems: [
        {
          timestamp: BigInt(clock.now()) * 1_000_000n,
          fsId: { mountpoint: '/' },
          usedBytes: { value: BigInt(deps.usedBytes()) },
          inodesUsed: { value: 0n },
        },
      ],
    })),
  };
}
