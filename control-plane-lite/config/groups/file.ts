/** The setting that names the configuration file. */
import type { SettingsOf } from './setting.ts';

export interface FileConfig {
  readonly config: string;
}

export const FILE: SettingsOf<FileConfig> = {
  config: {
    flag: 'config',
    type: 'string',
    default: '',
    group: 'Other',
    help: 'YAML or JSON file with settings: each flag is a field, such as securePort for --secure-port; flags take precedence',
  },
};
