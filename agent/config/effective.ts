/** Views of the effective configuration: a table with the origin of each value, and JSON for `/configz`.
 *  Secrets are redacted in both. */
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { AgentConfig } from './gen/config.ts';
import { effectNote } from './no-effect.ts';
import { formatOrigin, type Origins } from './origin.ts';
import type { Setting } from './setting.ts';
import { settingValues } from './setting-values.ts';
import { CONFIG_SETTINGS, SETTING_BY_KEY } from './table.ts';
import { upstreamField } from './upstream.ts';
import { formatValue, toFileForm } from './values/format.ts';

export interface EffectiveSetting {
  readonly key: string;
  /** On one line; secrets redacted. */
  readonly value: string;
  /** `default`, `/etc/agent.yaml:maxPods` or `--max-pods`. */
  readonly origin: string;
  /** Reason why the setting has no effect; empty otherwise. */
  readonly note: string;
}

/** Returns every setting with its value and origin, in the order of the table. */
export function effectiveSettings(config: AgentConfig, origins: Origins): readonly EffectiveSetting[] {
  const values = settingValues(config);
  return CONFIG_SETTINGS.map((setting) => ({
    key: setting.key,
    value: formatValue(setting, values.get(setting.key)),
    origin: formatOrigin(origins.get(setting.key) ?? { kind: 'default' }),
    note: effectNote(setting, config),
  }));
}

export interface EffectiveTableOptions {
  /** Omits settings at their default. */
  readonly changedOnly?: boolean;
}

const HEADINGS: EffectiveSetting = { key: 'SETTING', value: 'VALUE', origin: 'ORIGIN', note: '' };
const WIDEST_VALUE = 60;

/** Returns the table of `nodeagent config`, with a trailing line break. */
export function formatEffectiveTable(
  config: AgentConfig,
  origins: Origins,
  { changedOnly = false }: EffectiveTableOptions = {},
): string {
  const isChanged = ({ key }: EffectiveSetting): boolean => origins.get(key)?.kind !== 'default';
  const settings = effectiveSettings(config, origins).filter((setting) => !changedOnly || isChanged(setting));
  const rows = [HEADINGS, ...settings];
  const keyWidth = Math.max(...rows.map(({ key }) => key.length));
  const valueWidth = Math.min(WIDEST_VALUE, Math.max(...rows.map(({ value }) => value.length)));
  return rows
    .map(({ key, value, origin }) => `${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`)
    .join('');
}

/** Configuration fields, nested as in the file. */
export interface ConfigDocument {
  readonly [field: string]: unknown;
}

/** Adds a field at a dotted path, creating its parent objects. */
function withField(document: ConfigDocument, path: readonly string[], value: unknown): ConfigDocument {
  const [name = '', ...below] = path;
  if (below.length === 0) return { ...document, [name]: value };
  const section = document[name];
  const inner =
    typeof section === 'object' && section !== null ? Object.fromEntries(Object.entries(section)) : {};
  return { ...document, [name]: withField(inner, below, value) };
}

function fieldPath(setting: Setting, vocabulary: Vocabulary): readonly string[] {
  const upstream = vocabulary.name === 'kubernetes' ? upstreamField(setting.key) : undefined;
  return (upstream ?? setting.key).split('.');
}

/** Returns the configuration as a document for `--config`, in the names of its vocabulary.
 *  Settings that only a flag can set are not part of it. */
export function configDocument(config: AgentConfig): ConfigDocument {
  const vocabulary = VOCABULARIES[config.vocabulary];
  let document: ConfigDocument = {
    kind: vocabulary.configKind,
    apiVersion: `${vocabulary.configApiGroup}/v1beta1`,
  };
  for (const [key, value] of settingValues(config)) {
    const setting = SETTING_BY_KEY.get(key);
    if (setting?.inFile !== true) continue;
    const form = toFileForm(setting, value, vocabulary.name === 'kubernetes');
    document = withField(document, fieldPath(setting, vocabulary), form);
  }
  return document;
}

/** Returns the response of `/configz`. */
export function configzBody(config: AgentConfig): ConfigDocument {
  return { [VOCABULARIES[config.vocabulary].configzKey]: configDocument(config) };
}
