/** Table of all settings of the server: flag, type, default and help. The command line, `--help` and the
 *  validation are derived from it. */
import { ACCESS, type AccessConfig } from './groups/access.ts';
import { API, type ApiConfig } from './groups/api.ts';
import { AUDIT, type AuditConfig } from './groups/audit.ts';
import { AUTHENTICATION, type AuthenticationConfig } from './groups/authentication.ts';
import { AUTHORIZATION, type AuthorizationConfig } from './groups/authorization.ts';
import { AUTOSCALING, type AutoscalingConfig } from './groups/autoscaling.ts';
import { CERTIFICATES, type CertificateConfig } from './groups/certificates.ts';
import { ENCRYPTION, type EncryptionConfig } from './groups/encryption.ts';
import { FILE, type FileConfig } from './groups/file.ts';
import { NODES, type NodesConfig } from './groups/nodes.ts';
import { OPERATION, type OperationConfig } from './groups/operation.ts';
import { SERVING, type ServingConfig } from './groups/serving.ts';
import type { SettingsOf } from './groups/setting.ts';
import { STORAGE, type StorageConfig } from './groups/storage.ts';

/** The values of all settings; durations are in ms. */
export interface SettingValues
  extends StorageConfig,
    ApiConfig,
    ServingConfig,
    AccessConfig,
    AuthenticationConfig,
    AuthorizationConfig,
    CertificateConfig,
    NodesConfig,
    AutoscalingConfig,
    OperationConfig,
    AuditConfig,
    EncryptionConfig,
    FileConfig {}

/** The configuration. */
export interface ServerConfig extends SettingValues {
  /** Flags without effect that were set, with their value. */
  readonly setInVain: ReadonlyMap<string, unknown>;
}

export const SETTINGS: SettingsOf<SettingValues> = {
  ...STORAGE,
  ...API,
  ...SERVING,
  ...ACCESS,
  ...AUTHENTICATION,
  ...AUTHORIZATION,
  ...CERTIFICATES,
  ...NODES,
  ...AUTOSCALING,
  ...OPERATION,
  ...AUDIT,
  ...ENCRYPTION,
  ...FILE,
};
