import { expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Container, Image } from '#cri/gen/cri-v1.ts';
import { createImageCollector, type ImageCollector, type ImageCollectorDeps } from './image-collector.ts';

const MiB = 1024 * 1024;
const POLICY = { highPercent: 85, lowPercent: 80, minAgeMs: 120_000 };

const image = (id: string, more: Partial<Image> = {}): Image => ({
  id,
  repoTags: [`docker.io/library/${id}:latest`],
  repoDigests: [],
  size: BigInt(10 * MiB),
  uid: undefined,
  username: '',
  spec: undefined,
  pinned: false,
  ...more,
});

const user = (imageRef: string): Container => ({
  id: `of-${imageRef}`,
  podSandboxId: 's',
  metadata: undefined,
  image: undefined,
  imageRef,
  state: 'CONTAINER_EXITED',
  createdAt: 0n,
  labels: {},
  annotations: {},
  imageId: '',
});

interface State {
  readonly warned: string[];
  readonly forgotten: string[];
  onRemoved: (id: string) => void;
  wanted: string[];
  users: string[];
  images: Image[];
  /** In MiB, of 1000. */
  available: number;
  /** In MiB, freed per image. */
  gain: number;
  fails: boolean;
  ready: boolean;
}

interface World extends State, ImageCollector {
  readonly clock: FakeClock;
  readonly left: () => readonly string[];
}

function world(images: readonly Image[], more: Partial<State> = {}, policy = POLICY): World {
  const clock = createFakeClock();
  const state: State = {
    warned: [],
    forgotten: [],
    onRemoved: () => undefined,
    wanted: [],
    users: [],
    images: [...images],
    available: 500,
    gain: 10,
    fails: false,
    ready: true,
    ...more,
  };
  const deps: ImageCollectorDeps = {
    images: {
      listImages: async () => ({ images: state.images }),
      imageStatus: async ({ image: asked }) => ({
        image: state.images.find(({ id }) => asked?.image === `short-${id}`),
        info: {},
      }),
      async removeImage({ image: asked }) {
        if (state.fails) throw new Error('runtime is away');
        state.images = state.images.filter(({ id }) => id !== asked?.image);
        state.available += state.gain;
        return {};
      },
    },
    runtime: {
      listContainers: async () => ({ containers: state.users.map(user) }),
      status: async () => ({
        status: undefined,
        info: { config: '{"sandboxImage":"pause"}' },
        runtimeHandlers: [],
        features: undefined,
      }),
    },
    wanted: () => state.wanted,
    space: async () => ({ capacityBytes: 1000 * MiB, availableBytes: state.available * MiB }),
    removed(id) {
      state.forgotten.push(id);
      state.onRemoved(id);
    },
    sourcesRead: () => (state.ready ? Promise.resolve() : new Promise(() => undefined)),
    warn: (reason, message) => state.warned.push(`${reason}: ${message}`),
    clock,
    log: silentLogger,
  };
  const left = (): readonly string[] => state.images.map(({ id }) => id);
  return Object.assign(
    state,
    { clock, left },
    createImageCollector(deps, { policy, sandboxImages: ['example.com/pause:3'] }),
  );
}

const never = new AbortController().signal;

test('removes nothing below the high threshold', async () => {
  const at = world([image('a')], { available: 151 });
  expect(await at.collect(never)).toBe(0);
  expect(at.left()).toEqual(['a']);
});

test('removes down to the low threshold, by the sizes of the images', async () => {
  // The disk reports no gain: by sizes alone, 60 MiB are six images.
  const at = world(
    Array.from({ length: 9 }, (_, index) => image(`i${index}`)),
    { available: 140, gain: 0 },
  );
  expect(await at.collect(never)).toBe(60 * MiB);
  expect(at.left()).toHaveLength(3);
  expect(at.collected()).toEqual([
    { reason: 'space', images: 6, bytes: 60 * MiB },
    { reason: 'pressure', images: 0, bytes: 0 },
  ]);
  expect(at.forgotten).toHaveLength(6);
});

test('removes no more than necessary where images free more than their size', async () => {
  const at = world(
    Array.from({ length: 9 }, (_, index) => image(`i${index}`)),
    { available: 140, gain: 30 },
  );
  expect(await at.collect(never)).toBe(20 * MiB);
  expect(at.left()).toHaveLength(7);
});

test('retains images that are used, desired, pinned or of a sandbox', async () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const at = world(
    [
      image('unused'),
      image('used'),
      image('wanted'),
      image('by-digest', { repoTags: [], repoDigests: [`example.com/x@${digest}`] }),
      image('elsewhere', { repoTags: ['quay.io/y:1'] }),
      image('pinned', { pinned: true }),
      image('pause'),
      image('configured', { repoTags: ['example.com/pause:3'] }),
    ],
    {
      users: ['used'],
      // The last is not a valid image name and is ignored.
      wanted: ['wanted', `example.com/x:1@${digest}`, 'short-elsewhere', 'NO/Such Name'],
    },
  );
  expect(await at.deleteUnused(never)).toBe(10 * MiB);
  expect(at.left()).not.toContain('unused');
  expect(at.left()).toHaveLength(7);
});

test('retains an image that a new pod uses since the inventory', async () => {
  const at = world([image('a'), image('b')]);
  at.onRemoved = (id) => {
    at.wanted = [id === 'a' ? 'b' : 'a'];
  };
  await at.deleteUnused(never);
  expect(at.left()).toHaveLength(1);
});

test('retains young images, except those that existed before the first inventory', async () => {
  const at = world([image('old')], { available: 10 });
  await expect(at.collect(never)).rejects.toThrow('failed to garbage collect required amount of images');
  expect(at.left()).toEqual([]);
  at.images = [image('young')];
  expect(await at.deleteUnused(never)).toBe(0);
  await at.clock.advance(POLICY.minAgeMs);
  expect(await at.deleteUnused(never)).toBe(10 * MiB);
});

test('reports a disk that stays full, and the second failure in a row', async () => {
  const at = world([image('a')], { available: 10 });
  const stop = new AbortController();
  const running = at.run(stop.signal);
  await at.clock.advance(0);
  expect(at.warned).toEqual([
    `FreeDiskSpaceFailed: failed to garbage collect required amount of images. Wanted to free ${190 * MiB} bytes, but freed ${10 * MiB} bytes`,
  ]);
  await at.clock.advance(300_000);
  expect(at.warned.map((text) => text.split(':')[0])).toEqual([
    'FreeDiskSpaceFailed',
    'FreeDiskSpaceFailed',
    'ImageGCFailed',
  ]);
  stop.abort();
  await running;
});

test('delays the first round until the desired images are known', async () => {
  const at = world([image('a')], { available: 10, ready: false });
  const stop = new AbortController();
  const running = at.run(stop.signal);
  await at.clock.advance(0);
  expect(at.left()).toEqual(['a']);
  await at.clock.advance(300_000);
  expect(at.left()).toEqual([]);
  stop.abort();
  await running;
});

test('is disabled at 100 percent, except for explicit requests under pressure', async () => {
  const at = world([image('a')], { available: 0 }, { ...POLICY, highPercent: 100 });
  const stop = new AbortController();
  const running = at.run(stop.signal);
  await at.clock.advance(300_000);
  expect(at.left()).toEqual(['a']);
  expect(await at.deleteUnused(never)).toBe(10 * MiB);
  stop.abort();
  await running;
});

test('continues after a failed removal', async () => {
  const at = world([image('a'), image('b')], { fails: true });
  expect(await at.deleteUnused(never)).toBe(0);
  at.fails = false;
  expect(await at.deleteUnused(never)).toBe(20 * MiB);
});
