/** Directory of the generated keys and certificates. */
import { join } from 'node:path';
import type { ServerConfig } from '../config/settings.ts';

export const keysDirOf = ({ certDir, dataDir }: Pick<ServerConfig, 'certDir' | 'dataDir'>): string =>
  certDir === '' ? join(dataDir, 'pki') : certDir;
