/** Settings of encryption at rest. */
import type { SettingsOf } from './setting.ts';

export interface EncryptionConfig {
  readonly encryptionProviderConfig: string;
}

export const ENCRYPTION: SettingsOf<EncryptionConfig> = {
  encryptionProviderConfig: {
    flag: 'encryption-provider-config',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'file with the keys and key management services that encrypt objects in the store; reloaded when it changes',
  },
};
