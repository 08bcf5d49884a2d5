/** Validation of images and container logs. */
import { compareQuantities } from '#api/meta/quantity.ts';
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

function checkCredentialProviders(config: AgentConfig): readonly ConfigFieldError[] {
  const { imageCredentialProviderConfig: file, imageCredentialProviderBinDir: directory } = config;
  if ((file === '') === (directory === '')) return [];
  const [given, missing] =
    file === ''
      ? (['imageCredentialProviderBinDir', 'imageCredentialProviderConfig'] as const)
      : (['imageCredentialProviderConfig', 'imageCredentialProviderBinDir'] as const);
  const flag =
    missing === 'imageCredentialProviderConfig'
      ? '--image-credential-provider-config'
      : '--image-credential-provider-bin-dir';
  return [errorOf(given, `needs ${flag} as well`, { badValue: config[given], others: [missing] })];
}

/** Returns the validation errors of image collection, credential plugins and log rotation. */
export function validateImages(config: AgentConfig): readonly ConfigFieldError[] {
  const errors = [...checkCredentialProviders(config)];
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = config;
  if (low >= high) {
    const detail = `must be below imageGCHighThresholdPercent, which is ${high}`;
    const others = ['imageGCHighThresholdPercent'];
    errors.push(errorOf('imageGCLowThresholdPercent', detail, { badValue: low, others }));
  }
  if (compareQuantities(config.containerLogMaxSize, '0') === 0) {
    const detail = 'must not be zero; a negative size switches rotation off';
    errors.push(errorOf('containerLogMaxSize', detail, { badValue: config.containerLogMaxSize }));
  }
  return errors;
}
