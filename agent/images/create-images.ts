/** The image manager with every source of registry credentials that the configuration names. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import type { ImageService } from '#cri/gen/cri-v1.ts';
import { createImageManager, type ImageManager } from './image-manager.ts';
import { type CredentialProvider, createKeyring, hostConfigDirs } from './keyring.ts';

export interface CreateImagesDeps {
  readonly images: ImageService;
  readonly clock: Clock;
  readonly log: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The settings that images follow. */
export interface ImageSettings {
  readonly rootDir: string;
  readonly serializeImagePulls: boolean;
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  readonly imageCredentialProviderConfig: string;
  readonly imageCredentialProviderBinDir: string;
}

/** The credential provider configuration has faults; the message names them all. */
export class CredentialProviderConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CredentialProviderConfigError';
  }
}

/** @throws CredentialProviderConfigError */
export async function createImages(deps: CreateImagesDeps, settings: ImageSettings): Promise<ImageManager> {
  const { images, clock, log, env } = deps;
  const providers = await credentialProviders(deps, settings);
  const configDirs = hostConfigDirs(settings.rootDir, env['HOME']);
  const credentials = createKeyring({ log, providers }, { configDirs });
  return createImageManager({ images, clock, log, credentials }, settings);
}

async function credentialProviders(
  { clock, log, env }: CreateImagesDeps,
  { imageCredentialProviderConfig: configPath, imageCredentialProviderBinDir: binDir }: ImageSettings,
): Promise<readonly CredentialProvider[]> {
  if (configPath === '') return [];
  const { loadCredentialProviderConfig } = await import('./load-credential-providers.ts');
  const { createCredentialProviders } = await import('./credential-provider.ts');
  const result = await loadCredentialProviderConfig({ configPath, binDir });
  if (result.kind === 'invalid') {
    throw new CredentialProviderConfigError(result.errors.map(formatFieldError).join('\n'));
  }
  const inherited = Object.entries(env).flatMap(([key, text]) =>
    text === undefined ? [] : [[key, text] as const],
  );
  return createCredentialProviders(
    { clock, log, env: Object.fromEntries(inherited) },
    { binDir, providers: result.providers },
  );
}
