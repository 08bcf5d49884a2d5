/** Inventory of the images in the runtime, with those in use or about to be used. */
import type { Image, ImageService, RuntimeService } from '#cri/gen/cri-v1.ts';
import type { ImageSnapshot, SeenImage } from '#eviction/image-gc.ts';
import { formatNormalized, ImageReferenceError, parseImageReference } from '../images/reference.ts';

export interface ImageInventoryDeps {
  readonly images: Pick<ImageService, 'imageStatus' | 'listImages'>;
  readonly runtime: Pick<RuntimeService, 'listContainers' | 'status'>;
  /** Image names in pods of this node, as spelled there. */
  readonly wanted: () => Iterable<string>;
  /** Names of images that are retained in any case, besides those that the runtime pins. */
  readonly pinned?: () => Promise<readonly string[]>;
}

/** An image with all its names. */
export interface NamedImage extends SeenImage {
  readonly names: ReadonlySet<string>;
}

export interface NamedSnapshot extends ImageSnapshot {
  readonly images: readonly NamedImage[];
}

/** Returns the normalized spelling of a name, and the one without its tag where a digest is given. Empty for
 *  IDs and invalid names. */
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

/** Reports whether one of the names refers to the image. */
export const goesBy = ({ names }: NamedImage, wanted: Iterable<string>): boolean =>
  [...wanted].some((name) => spellings(name).some((spelling) => names.has(spelling)));

/** Returns the sandbox image, from the verbose status of containerd and similar runtimes. */
async function sandboxImage(
  { runtime }: ImageInventoryDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { info } = await runtime.status({ verbose: true }, { signal });
  try {
    const config: unknown = JSON.parse(info['config'] ?? 'null');
    const image = typeof config === 'object' && config !== null && 'sandboxImage' in config;
    return image && typeof config.sandboxImage === 'string' ? config.sandboxImage : undefined;
  } catch {
    return undefined;
  }
}

/** Resolves names that only the runtime can resolve: short names with configured registries. */
async function idsOf(
  { images }: ImageInventoryDeps,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const resolvable = names.filter((name) => normalized(name).length > 0);
  const found = await Promise.all(
    resolvable.map((image) => images.imageStatus({ image: { image } }, { signal })),
  );
  return found.flatMap(({ image }) => (image === undefined || image.id === '' ? [] : [image.id]));
}

/** Reads images and the containers of everyone: other agents on the runtime use images as well.
 *  @param sandboxImages names of sandbox images besides the one that the runtime reports
 *  @throws CriError */
export async function readInventory(
  deps: ImageInventoryDeps,
  sandboxImages: readonly string[],
  nowMs: number,
  signal: AbortSignal,
): Promise<NamedSnapshot> {
  // Containers last: one that is created meanwhile is included, or its image is in use by a pod.
  const [listed, configured] = await Promise.all([
    deps.images.listImages({}, { signal }),
    sandboxImage(deps, signal).catch(() => undefined),
  ]);
  const { containers } = await deps.runtime.listContainers({}, { signal });
  const pinned = (await deps.pinned?.()) ?? [];
  const images = listed.images
    .map(namedImage)
    .map((image) => (goesBy(image, pinned) ? { ...image, pinned: true } : image));
  const used = new Set([
    ...containers.flatMap(({ image, imageRef, imageId }) => [imageRef, imageId, image?.image ?? '']),
    ...deps.wanted(),
    ...sandboxImages,
    ...(configured === undefined ? [] : [configured]),
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
