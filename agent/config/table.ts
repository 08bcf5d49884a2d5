/** List of all settings, with look-ups. */
import type { Setting, SettingFlag } from './setting.ts';
import { AGENT_SETTINGS } from './settings/agent.ts';
import { CONTAINER_SETTINGS } from './settings/containers.ts';
import { DOCKER_SETTINGS } from './settings/docker.ts';
import { EVICTION_SETTINGS } from './settings/eviction.ts';
import { IMAGE_SETTINGS } from './settings/images.ts';
import { LOGGING_SETTINGS } from './settings/logging.ts';
import { NETWORK_SETTINGS } from './settings/network.ts';
import { NODE_SETTINGS } from './settings/node.ts';
import { RESOURCE_SETTINGS } from './settings/resources.ts';
import { RUNTIME_SETTINGS } from './settings/runtime.ts';
import { SECURITY_SETTINGS } from './settings/security.ts';
import { SERVING_SETTINGS } from './settings/serving.ts';
import { SOURCE_SETTINGS } from './settings/sources.ts';
import { STATS_SETTINGS } from './settings/stats.ts';
import { VOLUME_SETTINGS } from './settings/volumes.ts';

/** Every setting, in the order of the help. */
export const SETTINGS: readonly Setting[] = [
  ...AGENT_SETTINGS,
  ...SOURCE_SETTINGS,
  ...RUNTIME_SETTINGS,
  ...IMAGE_SETTINGS,
  ...CONTAINER_SETTINGS,
  ...NETWORK_SETTINGS,
  ...RESOURCE_SETTINGS,
  ...EVICTION_SETTINGS,
  ...SECURITY_SETTINGS,
  ...VOLUME_SETTINGS,
  ...NODE_SETTINGS,
  ...SERVING_SETTINGS,
  ...LOGGING_SETTINGS,
  ...DOCKER_SETTINGS,
  ...STATS_SETTINGS,
];

/** Flags that print something in place of running the agent; they are not part of `AgentConfig`. */
const REQUEST_KEYS: ReadonlySet<string> = new Set(['help', 'version']);

/** Settings of `AgentConfig`: all but `--help` and `--version`. */
export const CONFIG_SETTINGS: readonly Setting[] = SETTINGS.filter(({ key }) => !REQUEST_KEYS.has(key));

export const SETTING_BY_KEY: ReadonlyMap<string, Setting> = new Map(
  SETTINGS.map((setting) => [setting.key, setting]),
);

export interface FlagEntry {
  readonly setting: Setting;
  readonly flag: SettingFlag;
}

/** Every flag by its own name; upstream's spellings are in `upstream.ts`. */
export const FLAG_BY_NAME: ReadonlyMap<string, FlagEntry> = new Map(
  SETTINGS.flatMap((setting) => setting.flags.map((flag) => [flag.name, { setting, flag }] as const)),
);
