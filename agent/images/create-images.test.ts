import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { ImageService } from '#cri/gen/cri-v1.ts';
import { createImages } from './create-images.ts';

const create = (isEnabled: boolean): Promise<unknown> =>
  createImages(
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no call is made
    {
      images: {} as Partial<ImageService> as ImageService,
      clock: createFakeClock(),
      log: silentLogger,
      env: {},
    },
    {
      rootDir: '/none',
      serializeImagePulls: true,
      registryPullQPS: 5,
      registryBurst: 10,
      imageCredentialProviderConfig: '/none/providers.yaml',
      imageCredentialProviderBinDir: '/none',
      credentialProviders: isEnabled,
    },
  );

test('credential plugins are loaded only with their feature gate', async () => {
  await expect(create(true)).rejects.toThrow('providers.yaml');
  await expect(create(false)).resolves.toBeDefined();
});
