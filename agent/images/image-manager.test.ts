import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Image } from '#cri/gen/cri-v1.ts';
import type { RegistryCredential } from './credentials.ts';
import { createImageManager, type ImageManagerConfig } from './image-manager.ts';
import { redactCredentials } from './puller.ts';
import type { EnsureImageRequest } from './types.ts';

const never = new AbortController().signal;
const base: EnsureImageRequest = {
  image: 'reg.io/app:1',
  pullPolicy: 'IfNotPresent',
  pullSecrets: [],
  podUID: 'pod-1',
  signal: never,
};
const login = (username: string, password: string): RegistryCredential => ({
  username,
  password,
  identityToken: '',
  registryToken: '',
});

interface Setup {
  readonly present?: readonly string[];
  readonly logins?: readonly RegistryCredential[];
  readonly config?: Partial<ImageManagerConfig>;
}

/** A runtime with images and optional pulls, without other checks. */
function setup({ present = [], logins = [], config = {} }: Setup = {}) {
  const clock = createFakeClock();
  const images = new Map<string, Image>();
  const add = (name: string): void => {
    const image: Image = {
      id: `id-of-${name}`,
      repoTags: [name],
      repoDigests: [],
      size: 1234n,
      uid: { value: 1000n },
      username: '',
      spec: undefined,
      pinned: false,
    };
    images.set(name, image).set(image.id, image);
  };
  for (const name of present) add(name);
  const calls: string[] = [];
  let pull: (image: string, username: string | undefined, signal: AbortSignal | undefined) => Promise<void> =
    () => Promise.resolve();
  let statusFails = false;
  const manager = createImageManager(
    {
      clock,
      log: silentLogger,
      credentials: { lookup: () => Promise.resolve(logins) },
      images: {
        async imageStatus(request) {
          const name = request.image?.image ?? '';
          calls.push(`status ${name}`);
          if (statusFails) throw new Error('runtime is away');
          return { image: images.get(name), info: {} };
        },
        async pullImage(request, options) {
          const name = request.image?.image ?? '';
          calls.push(`pull ${name} as ${request.auth?.username ?? 'nobody'}`);
          await pull(name, request.auth?.username, options?.signal);
          add(name);
          return { imageRef: `id-of-${name}` };
        },
      },
    },
    { serializeImagePulls: false, registryPullQPS: 0, registryBurst: 1, ...config },
  );
  return {
    manager,
    clock,
    calls,
    images,
    onPull: (behave: typeof pull) => void (pull = behave),
    failStatus: (fails: boolean) => void (statusFails = fails),
  };
}

describe('ensureImage', () => {
  test('queries a present image once, and not again for a while', async () => {
    const { manager, clock, calls } = setup({ present: ['reg.io/app:1'] });
    const expected = {
      kind: 'present',
      imageRef: 'id-of-reg.io/app:1',
      pulled: false,
      pullMs: 0,
      sizeBytes: 1234,
    };
    expect(await Promise.all([manager.ensureImage(base), manager.ensureImage(base)])).toEqual([
      expected,
      expected,
    ]);
    await clock.advance(9_000);
    await manager.ensureImage(base);
    expect(calls).toEqual(['status reg.io/app:1']);
    await clock.advance(1_000);
    await manager.ensureImage(base);
    expect(calls).toHaveLength(2);
    manager.invalidateImage('id-of-reg.io/app:1');
    await manager.ensureImage(base);
    expect(calls).toHaveLength(3);
  });

  test('pulls an absent image, with the default tag, and emits events', async () => {
    const { manager, calls } = setup();
    const events: string[] = [];
    const result = await manager.ensureImage({
      ...base,
      image: 'app',
      onEvent: ({ type, reason, message }) => events.push(`${type} ${reason} ${message}`),
    });
    expect(result).toMatchObject({
      kind: 'present',
      imageRef: 'id-of-app:latest',
      pulled: true,
      sizeBytes: 1234,
    });
    expect(calls).toEqual(['status app:latest', 'pull app:latest as nobody', 'status app:latest']);
    expect(events).toEqual([
      'Normal Pulling Pulling image "app"',
      'Normal Pulled Successfully pulled image "app" in 0s',
    ]);
  });

  test('pulls again for Always', async () => {
    const { manager, calls } = setup({ present: ['reg.io/app:1'] });
    expect(await manager.ensureImage({ ...base, pullPolicy: 'Always' })).toMatchObject({ pulled: true });
    expect(calls).toContain('pull reg.io/app:1 as nobody');
  });

  test.each<[string, Partial<EnsureImageRequest>, string, string]>([
    [
      'never pulls',
      { pullPolicy: 'Never' },
      'ErrImageNeverPull',
      'Container image "reg.io/app:1" is not present with pull policy of Never',
    ],
    [
      'reads no bad names',
      { image: 'Not An Image' },
      'InvalidImageName',
      'Failed to apply default image tag "Not An Image": invalid reference format: repository name must be lowercase',
    ],
  ])('%s', async (_, more, reason, message) => {
    const { manager, clock, calls } = setup();
    const result = await manager.ensureImage({ ...base, ...more });
    expect(result).toMatchObject({ kind: 'waiting', reason, message });
    expect(result.kind === 'waiting' && result.retryAtMs).toBeGreaterThan(clock.now());
    expect(calls.filter((call) => call.startsWith('pull'))).toEqual([]);
  });

  test('backs off 10 s doubling to 5 min per pod and image, and starts over after a success', async () => {
    const { manager, clock, onPull, calls } = setup();
    onPull(() => Promise.reject(new Error('manifest unknown')));
    const delays: number[] = [];
    for (let turn = 0; turn < 7; turn += 1) {
      const failed = await manager.ensureImage(base);
      expect(failed).toMatchObject({ reason: 'ErrImagePull', message: 'manifest unknown' });
      const waiting = await manager.ensureImage(base);
      expect(waiting).toMatchObject({
        reason: 'ImagePullBackOff',
        message: 'Back-off pulling image "reg.io/app:1": ErrImagePull: manifest unknown',
      });
      const retryAtMs = waiting.kind === 'waiting' ? waiting.retryAtMs : 0;
      delays.push((retryAtMs - clock.now()) / 1000);
      await clock.advance(retryAtMs - clock.now());
    }
    expect(delays).toEqual([10, 20, 40, 80, 160, 300, 300]);
    expect(calls.filter((call) => call.startsWith('pull'))).toHaveLength(7);
    expect(await manager.ensureImage({ ...base, podUID: 'pod-2' })).toMatchObject({ reason: 'ErrImagePull' });
    onPull(() => Promise.resolve());
    expect(await manager.ensureImage(base)).toMatchObject({ kind: 'present' });
    onPull(() => Promise.reject(new Error('again')));
    await manager.ensureImage({ ...base, pullPolicy: 'Always' });
    const again = await manager.ensureImage({ ...base, pullPolicy: 'Always' });
    expect(again.kind === 'waiting' && again.retryAtMs - clock.now()).toBe(10_000);
    manager.forgetPod('pod-1');
    expect(await manager.ensureImage({ ...base, pullPolicy: 'Always' })).toMatchObject({
      reason: 'ErrImagePull',
    });
  });

  test('shares one pull among pods', async () => {
    const { manager, calls, onPull } = setup();
    const gate = Promise.withResolvers<void>();
    onPull(() => gate.promise);
    const results = ['a', 'b', 'c'].map((podUID) => manager.ensureImage({ ...base, podUID }));
    await new Promise((resolve) => setImmediate(resolve));
    gate.resolve();
    for (const result of await Promise.all(results))
      expect(result).toMatchObject({ kind: 'present', pulled: true });
    expect(calls.filter((call) => call.startsWith('pull'))).toHaveLength(1);
  });

  test('continues a pull while it has a caller', async () => {
    const { manager, onPull } = setup();
    const gate = Promise.withResolvers<void>();
    let pulling: AbortSignal | undefined;
    onPull((_, __, signal) => {
      pulling = signal;
      return gate.promise;
    });
    const leaver = new AbortController();
    const left = manager.ensureImage({ ...base, signal: leaver.signal });
    const stayed = manager.ensureImage({ ...base, podUID: 'pod-2' });
    await new Promise((resolve) => setImmediate(resolve));
    leaver.abort(new Error('pod deleted'));
    await expect(left).rejects.toThrow('pod deleted');
    expect(pulling?.aborted).toBe(false);
    gate.resolve();
    expect(await stayed).toMatchObject({ kind: 'present' });
  });

  test.each<[boolean, number]>([
    [true, 1],
    [false, 3],
  ])('with serializeImagePulls %s runs %d concurrent pulls', async (serializeImagePulls, expected) => {
    const { manager, onPull } = setup({ config: { serializeImagePulls } });
    let running = 0;
    let most = 0;
    onPull(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    });
    await Promise.all(['a', 'b', 'c'].map((image) => manager.ensureImage({ ...base, image })));
    expect(most).toBe(expected);
  });

  test('waits above the rate limit', async () => {
    const { manager, clock, calls } = setup({ config: { registryPullQPS: 1, registryBurst: 1 } });
    const results = ['a', 'b'].map((image) => manager.ensureImage({ ...base, image }));
    await clock.advance(0);
    expect(calls.filter((call) => call.startsWith('pull'))).toHaveLength(1);
    await clock.advance(1000);
    expect(calls.filter((call) => call.startsWith('pull'))).toHaveLength(2);
    expect(await Promise.all(results)).toMatchObject([{ kind: 'present' }, { kind: 'present' }]);
  });

  test('tries the logins in order', async () => {
    const { manager, calls, onPull } = setup({ logins: [login('one', 'x'), login('two', 'y')] });
    onPull((_, username) => (username === 'two' ? Promise.resolve() : Promise.reject(new Error('denied'))));
    expect(await manager.ensureImage(base)).toMatchObject({ kind: 'present' });
    expect(calls.slice(1, 3)).toEqual(['pull reg.io/app:1 as one', 'pull reg.io/app:1 as two']);
  });

  test('redacts logins in messages of the runtime', async () => {
    const { manager, onPull } = setup({ logins: [login('user', 'hunter2')] });
    onPull(() =>
      Promise.reject(new Error('GET https://user:hunter2@reg.io/v2 failed: bad password hunter2')),
    );
    const result = await manager.ensureImage(base);
    expect(result).toMatchObject({ reason: 'ErrImagePull' });
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });

  test.each([
    ['RegistryUnavailable', 'RegistryUnavailable'],
    ['SignatureValidationFailed', 'SignatureValidationFailed'],
    ['anything', 'ErrImagePull'],
  ])('classifies %s', async (words, reason) => {
    const { manager, onPull } = setup();
    onPull(() => Promise.reject(new Error(`rpc failed: ${words}`)));
    expect(await manager.ensureImage(base)).toMatchObject({ kind: 'waiting', reason });
  });

  test('reports a runtime that does not respond, and recovers', async () => {
    const { manager, failStatus } = setup({ present: ['reg.io/app:1'] });
    failStatus(true);
    expect(await manager.ensureImage(base)).toMatchObject({
      reason: 'ImageInspectError',
      message: 'Failed to inspect image "reg.io/app:1": runtime is away',
    });
    failStatus(false);
    expect(await manager.ensureImage(base)).toMatchObject({ kind: 'present' });
  });
});

describe('imageUser', () => {
  test('returns users by number and by name, and undefined for removed images', async () => {
    const { manager, images, calls } = setup({ present: ['a', 'b'] });
    const named = images.get('b');
    if (named !== undefined) images.set('id-of-b', { ...named, uid: undefined, username: 'app' });
    expect(await manager.imageUser('id-of-a')).toEqual({ uid: 1000 });
    expect(await manager.imageUser('id-of-a')).toEqual({ uid: 1000 });
    expect(await manager.imageUser('id-of-b')).toEqual({ username: 'app' });
    expect(await manager.imageUser('id-of-c')).toBeUndefined();
    expect(calls).toHaveLength(3);
  });
});

describe('redactCredentials', () => {
  test('redacts values, their basic auth form and user info of any URL', () => {
    const message = `hunter2 ${Buffer.from('user:hunter2').toString('base64')} https://other:thing@x.io/ ok`;
    expect(redactCredentials(message, [login('user', 'hunter2')])).toBe(
      '[redacted] [redacted] https://[redacted]@x.io/ ok',
    );
  });
});
