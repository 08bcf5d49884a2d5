/** Default configuration, without flags or file. */
import { type AgentConfig, readAgentConfig } from './gen/config.ts';
import { createConfigReader } from './reader.ts';
import { defaultValue } from './resolve.ts';
import { CONFIG_SETTINGS } from './table.ts';

/** Returns every setting at its default, `withFile` as for an empty configuration file. */
export function createDefaultConfig(withFile = false): AgentConfig {
  const values = CONFIG_SETTINGS.map((setting) => [setting.key, defaultValue(setting, withFile)] as const);
  return readAgentConfig(createConfigReader(new Map(values)));
}
