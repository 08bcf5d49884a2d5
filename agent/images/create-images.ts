/** Creates the image manager with every configured source of registry credentials. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import type { ImageService } from '#cri/gen/cri-v1.ts';
import { createImageManager, type ImageManager } from './image-manager.ts';
import { type CredentialProvider, createKeyring, hostConfigDirs } from './keyring.ts';

export interface CreateImagesDeps {
  readonly images: ImageService;
  readonly clock: Clock;
  readonly log: Logger;
  /** Reports slow credential providers. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Settings for images. */
export interface ImageSettings {
  readonly rootDir: string;
  readonly serializeImagePulls: boolean;
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  readonly imageCredentialProviderConfig: string;
  readonly imageCredentialProviderBinDir: string;
  /** The feature gate NodeAgentCredentialProviders. */
  readonly credentialProviders: boolean;
}

/** The credential provider configuration is invalid; the message lists all errors. */
class CredentialProviderConfigError extends Error {
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
  { clock, log, waits, env }: CreateImagesDeps,
  settings: ImageSettings,
): Promise<readonly CredentialProvider[]> {
  const { imageCredentialProviderConfig: configPath, imageCredentialProviderBinDir: binDir } = settings;
  if (configPath === '' || !settings.credentialProviders) return [];
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
    { clock, log, waits, env: Object.fromEntries(inherited) },
    { binDir, providers: result.providers },
  );
}
