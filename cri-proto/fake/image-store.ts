/** Images of the fake, and the content of its simulated registry. */
import type { Image, ImageSpec } from '../gen/cri-v1.ts';
import { FakeFailure } from './failure.ts';

export interface FakeImage {
  /** Reference as a pod names it: `local/busybox:1`. */
  readonly reference: string;
  /** Derived from the reference by default. */
  readonly id?: string;
  readonly sizeBytes?: number;
  /** Numeric user of the image. */
  readonly uid?: number;
  /** User name of the image, if it is not numeric. */
  readonly username?: string;
}

export interface ImageStore {
  readonly add: (image: FakeImage) => void;
  /** Makes the image available for pulls. */
  readonly publish: (image: FakeImage) => void;
  readonly list: (filter: ImageSpec | undefined) => readonly Image[];
  readonly find: (reference: string) => Image | undefined;
  /** @throws FakeFailure (`NotFound`) if it was not published */
  readonly pull: (reference: string) => Image;
  readonly remove: (reference: string) => void;
}

export function createImageStore(): ImageStore {
  const present = new Map<string, Image>();
  const registry = new Map<string, FakeImage>();

  const find = (reference: string): Image | undefined =>
    [...present.values()].find((image) => image.id === reference || image.repoTags.includes(reference));

  function add(fake: FakeImage): Image {
    const image = toImage(fake);
    const earlier = present.get(image.id);
    const repoTags = [...new Set([...(earlier?.repoTags ?? []), ...image.repoTags])];
    const merged = { ...image, repoTags };
    present.set(image.id, merged);
    return merged;
  }

  return {
    add: (fake) => void add(fake),
    publish: (fake) => void registry.set(fake.reference, fake),
    find,
    list(filter) {
      if (filter === undefined || filter.image === '') return [...present.values()];
      const image = find(filter.image);
      return image === undefined ? [] : [image];
    },
    pull(reference) {
      const published = registry.get(reference);
      if (published !== undefined) return add(published);
      throw new FakeFailure('NotFound', `failed to resolve reference "${reference}": not found`);
    },
    remove(reference) {
      const image = find(reference);
      if (image !== undefined) present.delete(image.id);
    },
  };
}

function toImage(fake: FakeImage): Image {
  const { reference, id = `sha256:${Buffer.from(reference).toString('hex').padEnd(64, '0').slice(0, 64)}` } =
    fake;
  return {
    id,
    repoTags: [reference],
    repoDigests: [],
    size: BigInt(fake.sizeBytes ?? 1_000_000),
    uid: fake.uid === undefined ? undefined : { value: BigInt(fake.uid) },
    username: fake.username ?? '',
    spec: undefined,
    pinned: false,
  };
}
