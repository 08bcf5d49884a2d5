/** Configuration of ImagePolicyWebhook. Source: ImagePolicyWebhook, document 2 §2.7; upstream's plugin,
 *  release 1.24. */
import { dirname, resolve } from 'node:path';
import type { Section } from '#api/client-config/fields.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { integerIn, type PluginConfig, readPluginConfig } from '../configuration/plugin-config.ts';

export interface ImagePolicyConfig {
  /** Address of the service, and this server's credentials. */
  readonly clientConfigFile: string;
  /** Lifetimes of cached approvals and denials in ms. 0 disables caching. */
  readonly allowMs: number;
  readonly denyMs: number;
  readonly retryMs: number;
  /** Decision when the service is unavailable. */
  readonly defaultAllow: boolean;
}

const LONGEST_TTL_SECONDS = 1800;
/** Disables the cache. */
const NEVER = -1;

/** Names of either vocabulary are accepted. */
const FILE_MEMBERS: readonly string[] = Object.values(VOCABULARIES).map(
  ({ clientConfigFileMember }) => clientConfigFileMember,
);

function ttlMs(section: Section, name: string, fallbackSeconds: number): number {
  if (section.value(name) === NEVER) return 0;
  const seconds = integerIn(section, name, { fallback: fallbackSeconds, min: 0, max: LONGEST_TTL_SECONDS });
  return (seconds === 0 ? fallbackSeconds : seconds) * 1000;
}

function retryMs(section: Section): number {
  if (section.value('retryBackoff') === NEVER) return 0;
  const ms = integerIn(section, 'retryBackoff', { fallback: 500, min: 0, max: 300_000 });
  return ms === 0 ? 500 : ms;
}

/** @throws PluginConfigError */
export function readImagePolicyConfig(config: PluginConfig): ImagePolicyConfig {
  const known = [...FILE_MEMBERS, 'allowTTL', 'denyTTL', 'retryBackoff', 'defaultAllow'];
  return readPluginConfig(config, ['imagePolicy'], (root) => {
    const section = root.section('imagePolicy', known);
    if (section === undefined) root.report('FieldValueRequired', 'imagePolicy', 'the settings');
    const file = FILE_MEMBERS.map((name) => section?.text(name) ?? '').find((text) => text !== '') ?? '';
    if (section !== undefined && file === '')
      section.report('FieldValueRequired', FILE_MEMBERS[0] ?? '', 'a client configuration file');
    return {
      clientConfigFile: resolve(dirname(config.file), file),
      allowMs: section === undefined ? 0 : ttlMs(section, 'allowTTL', 300),
      denyMs: section === undefined ? 0 : ttlMs(section, 'denyTTL', 30),
      retryMs: section === undefined ? 0 : retryMs(section),
      defaultAllow: section?.flag('defaultAllow') === true,
    };
  });
}
