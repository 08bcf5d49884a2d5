/** Loads the settings of admission plugins from the configured files. */
import { readFile } from 'node:fs/promises';
import { ClientConfigError } from '#api/client-config/error.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { loadPluginConfigs } from '../admission/configuration/load.ts';
import { PluginConfigError, type PluginConfigs } from '../admission/configuration/plugin-config.ts';
import { type ImagePolicyConfig, readImagePolicyConfig } from '../admission/image-policy/config.ts';
import { ADMISSION_PLUGINS, enabledPlugins } from '../admission/names.ts';
import {
  NO_SELECTORS,
  NO_TOLERATIONS,
  type NodeSelectorConfig,
  readNodeSelectorConfig,
  readTolerationConfig,
  type TolerationConfig,
} from '../admission/namespace-scheduling/config.ts';
import {
  NO_POD_SECURITY,
  type PodSecurityConfig,
  readPodSecurityConfig,
} from '../admission/pod-security/config.ts';
import { type FindCredentials, loadHookCredentials } from '../admission/webhooks/credentials.ts';
import { ConfigError } from '../config/parse.ts';
import type { ServerConfig } from '../config/settings.ts';
import type { Backend } from '../webhooks/backend.ts';
import type { Follow } from './certificates/follow.ts';

export interface AdmissionSettings {
  /** Absent: the plugin is disabled. */
  readonly imagePolicy: { readonly backend: Backend; readonly config: ImagePolicyConfig } | undefined;
  readonly nodeSelectors: NodeSelectorConfig;
  readonly tolerations: TolerationConfig;
  readonly podSecurity: PodSecurityConfig;
  readonly mutatingCredentials: FindCredentials;
  readonly validatingCredentials: FindCredentials;
}

type FileConfig = Pick<
  ServerConfig,
  'admissionControlConfigFile' | 'enableAdmissionPlugins' | 'disableAdmissionPlugins'
>;

export interface AdmissionSettingsDeps {
  readonly log: Logger;
  readonly follow: Follow;
}

const FLAG = '--admission-control-config-file';
const IMAGES = 'ImagePolicyWebhook';

async function loadImagePolicy(
  configs: PluginConfigs,
  log: Logger,
  signal: AbortSignal,
): Promise<NonNullable<AdmissionSettings['imagePolicy']>> {
  const given = configs.get(IMAGES);
  if (given === undefined) throw new ConfigError([`${FLAG}: ${IMAGES} requires settings in this file`]);
  const config = readImagePolicyConfig(given);
  // Loaded lazily, because few servers use the plugin.
  const { loadBackend } = await import('../webhooks/backend.ts');
  const backend = await loadBackend(config.clientConfigFile, log);
  signal.addEventListener('abort', () => void backend.close().catch(() => undefined), { once: true });
  return { backend, config };
}

async function load(
  config: FileConfig,
  { log, follow }: AdmissionSettingsDeps,
  signal: AbortSignal,
): Promise<AdmissionSettings> {
  const readText = (path: string): Promise<string> => readFile(path, 'utf8');
  const configs = await loadPluginConfigs(config.admissionControlConfigFile, { readFile: readText });
  const unknown = [...configs.keys()].filter((name) => ADMISSION_PLUGINS.every((each) => each.name !== name));
  if (unknown.length > 0) log.warn({ plugins: unknown }, 'Settings of unknown admission plugins ignored');
  const credentials = (name: string): Promise<FindCredentials> =>
    loadHookCredentials(configs.get(name), follow);
  const read = <T>(
    name: string,
    none: T,
    by: (given: NonNullable<ReturnType<PluginConfigs['get']>>) => T,
  ): T => {
    const given = configs.get(name);
    return given === undefined ? none : by(given);
  };
  const enabled = enabledPlugins(config.enableAdmissionPlugins, config.disableAdmissionPlugins);
  return {
    imagePolicy: enabled.includes(IMAGES) ? await loadImagePolicy(configs, log, signal) : undefined,
    nodeSelectors: read('PodNodeSelector', NO_SELECTORS, readNodeSelectorConfig),
    tolerations: read('PodTolerationRestriction', NO_TOLERATIONS, readTolerationConfig),
    podSecurity: read('PodSecurity', NO_POD_SECURITY, readPodSecurityConfig),
    mutatingCredentials: await credentials('MutatingAdmissionWebhook'),
    validatingCredentials: await credentials('ValidatingAdmissionWebhook'),
  };
}

/** @throws ConfigError that names each file and its error */
export async function loadAdmissionSettings(
  config: FileConfig,
  deps: AdmissionSettingsDeps,
  signal: AbortSignal,
): Promise<AdmissionSettings> {
  try {
    return await load(config, deps, signal);
  } catch (thrown) {
    if (thrown instanceof ConfigError) throw thrown;
    if (thrown instanceof PluginConfigError) throw new ConfigError(thrown.problems);
    const lines =
      thrown instanceof ClientConfigError ? thrown.message.split('\n') : [asError(thrown).message];
    throw new ConfigError(lines.map((line) => `${FLAG}: ${line}`));
  }
}
