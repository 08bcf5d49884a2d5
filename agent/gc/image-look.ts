/** What the runtime has of images, and which of them somebody uses or is about to use. */
import type { Image, ImageService, RuntimeService } from '#cri/gen/cri-v1.ts';
import type { ImageLook, SeenImage } from '#eviction/image-gc.ts';
import { formatNormalized, ImageReferenceError, parseImageReference } from '../images/reference.ts';

export interface ImageLookDeps {
  readonly images: Pick<ImageService, 'imageStatus' | 'listImages'>;
  readonly runtime: Pick<RuntimeService, 'listContainers' | 'status'>;
  /** Images that pods of this node name, as they spell them. */
  readonly wanted: () => Iterable<string>;
}

/** An image with every name that it goes by. */
export interface NamedImage extends SeenImage {
  readonly names: ReadonlySet<string>;
}

export interface NamedLook extends ImageLook {
  readonly images: readonly NamedImage[];
}

/** The one spelling that equal names share, and the one without its tag where the content is named. None for what is
 *  no name but an ID, or nonsense. */
function normalized(name: string): readonly string[] {
  try {
    const reference = parseImageReference(name);
    const { tag, digest } = reference;
    const full = formatNormalized(reference);
    if (tag === undefined || digest === undefined) return [full];
    return [full, formatNormalized({ ...reference, tag: undefined })];
  } catch (thrown) {
    if (thrown instanceof ImageReferenceError) return [];
    throw thrown;
  }
}

const spellings = (name: string): readonly string[] => [name, ...normalized(name)];

const namedImage = ({ id, repoTags, repoDigests, size, pinned }: Image): NamedImage => ({
  id,
  sizeBytes: Number(size),
  pinned,
  names: new Set([id, ...repoTags, ...repoDigests].flatMap(spellings)),
});

/** Whether one of the names means the image. */
export const goesBy = ({ names }: NamedImage, wanted: Iterable<string>): boolean =>
  [...wanted].some((name) => spellings(name).some((spelling) => names.has(spelling)));

/** The image of pod sandboxes, from what containerd and its like tell of their configuration. */
async function sandboxImage({ runtime }: ImageLookDeps, signal: AbortSignal): Promise<string | undefined> {
  const { info } = await runtime.status({ verbose: true }, { signal });
  try {
    const config: unknown = JSON.parse(info['config'] ?? 'null');
    const image = typeof config === 'object' && config !== null && 'sandboxImage' in config;
    return image && typeof config.sandboxImage === 'string' ? config.sandboxImage : undefined;
  } catch {
    return undefined;
  }
}

/** IDs of images by names of which the runtime alone knows what they mean: short ones of registries it was told of. */
async function idsOf(
  { images }: ImageLookDeps,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const asked = names.filter((name) => normalized(name).length > 0);
  const found = await Promise.all(asked.map((image) => images.imageStatus({ image: { image } }, { signal })));
  return found.flatMap(({ image }) => (image === undefined || image.id === '' ? [] : [image.id]));
}

/** Looks at images and at everyone's containers: other agents on the runtime are users as well.
 *  @param sandboxImages names of images of pod sandboxes beside the one that the runtime tells
 *  @throws CriError */
export async function lookAtImages(
  deps: ImageLookDeps,
  sandboxImages: readonly string[],
  nowMs: number,
  signal: AbortSignal,
): Promise<NamedLook> {
  // Containers last: one that is made meanwhile is seen, or its image is wanted.
  const [listed, told] = await Promise.all([
    deps.images.listImages({}, { signal }),
    sandboxImage(deps, signal).catch(() => undefined),
  ]);
  const { containers } = await deps.runtime.listContainers({}, { signal });
  const images = listed.images.map(namedImage);
  const used = new Set([
    ...containers.flatMap(({ image, imageRef, imageId }) => [imageRef, imageId, image?.image ?? '']),
    ...deps.wanted(),
    ...sandboxImages,
    ...(told === undefined ? [] : [told]),
  ]);
  used.delete('');
  const known = new Map(images.flatMap(({ id, names }) => [...names].map((name) => [name, id] as const)));
  const inUse = new Set<string>();
  const unknown: string[] = [];
  for (const name of used) {
    const id = spellings(name)
      .map((one) => known.get(one))
      .find((one) => one !== undefined);
    if (id === undefined) unknown.push(name);
    else inUse.add(id);
  }
  for (const id of await idsOf(deps, unknown, signal)) inUse.add(id);
  return { nowMs, images, inUse };
}
