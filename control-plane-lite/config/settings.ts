/** Table of all settings of the server: flag, type, default and help. The command line, `--help` and the
 *  validation are derived from it. */
import { ACCESS, type AccessConfig } from './groups/access.ts';
import { API, type ApiConfig } from './groups/api.ts';
import { AUTHENTICATION, type AuthenticationConfig } from './groups/authentication.ts';
import { CERTIFICATES, type CertificateConfig } from './groups/certificates.ts';
import { NODES, type NodesConfig } from './groups/nodes.ts';
import { OPERATION, type OperationConfig } from './groups/operation.ts';
import { SERVING, type ServingConfig } from './groups/serving.ts';
import type { SettingsOf } from './groups/setting.ts';
import { STORAGE, type StorageConfig } from './groups/storage.ts';

/** The configuration; durations are in ms. */
export interface ServerConfig
  extends StorageConfig,
    ApiConfig,
    ServingConfig,
    AccessConfig,
    AuthenticationConfig,
    CertificateConfig,
    NodesConfig,
    OperationConfig {}

export const SETTINGS: SettingsOf<ServerConfig> = {
  ...STORAGE,
  ...API,
  ...SERVING,
  ...ACCESS,
  ...AUTHENTICATION,
  ...CERTIFICATES,
  ...NODES,
  ...OPERATION,
};
