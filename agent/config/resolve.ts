/** Merges flags, file and defaults: a flag overrides the file, the file the default. */
import { join } from 'node:path';
import type { FileValues } from './file.ts';
import type { FlagValues } from './flags/values.ts';
import type { Origin, Origins } from './origin.ts';
import { ConfigShapeError, type ConfigValue } from './reader.ts';
import type { Setting } from './setting.ts';
import { CONFIG_SETTINGS } from './table.ts';
import { upstreamDefault } from './upstream.ts';
import { readFileValue } from './values/read.ts';

export interface ResolvedValues {
  readonly values: ReadonlyMap<string, ConfigValue>;
  readonly origins: Origins;
}

interface Found {
  readonly value: ConfigValue;
  readonly origin: Origin;
}

/** Returns the default of the table; `withFile` when a configuration file is used.
 *  @throws ConfigShapeError if the table contradicts itself */
export function defaultValue(setting: Setting, withFile: boolean): ConfigValue {
  const raw = withFile ? (setting.fileDefault ?? setting.default) : setting.default;
  const parsed = readFileValue(setting, raw);
  if (parsed.kind === 'errors') throw new ConfigShapeError(setting.key, setting.type);
  return parsed.value;
}

function findValue(setting: Setting, flags: FlagValues, file: FileValues | undefined): Found {
  const flag = flags.values.get(setting.key);
  const field = file?.values.get(setting.key);
  if (flag === undefined) {
    return field === undefined || file === undefined
      ? { value: defaultValue(setting, file !== undefined), origin: { kind: 'default' } }
      : { value: field.value, origin: { kind: 'file', file: file.file, path: field.path } };
  }
  const origin: Origin = { kind: 'flag', flag: flag.flag };
  // Gates of the flag are merged into those of the file, as upstream does.
  if (flag.value.shape !== 'gates' || field?.value.shape !== 'gates' || file === undefined) {
    return { value: flag.value, origin };
  }
  const value: ConfigValue = { shape: 'gates', value: { ...field.value.value, ...flag.value.value } };
  return { value, origin: { ...origin, withFile: `${file.file}:${field.path}` } };
}

/** Replaces a zero that stands for the default. */
function replaceZero(setting: Setting, found: Found): Found {
  if (setting.zeroMeans !== 'default' || found.value.shape !== 'number' || found.value.value !== 0)
    return found;
  return { ...found, value: defaultValue(setting, false) };
}

const textOf = (found: Found | undefined): string => (found?.value.shape === 'text' ? found.value.value : '');

/** Defaults that follow another setting, unless the setting itself is set. */
function followingDefaults(found: ReadonlyMap<string, Found>): ReadonlyMap<string, Found> {
  const following = new Map<string, Found>();
  const follow = (key: string, value: ConfigValue | undefined, note: string): void => {
    if (value === undefined || found.get(key)?.origin.kind !== 'default') return;
    following.set(key, { value, origin: { kind: 'default', note } });
  };
  const text = (value: string | undefined): ConfigValue | undefined =>
    value === undefined ? undefined : { shape: 'text', value };

  const endpoint = textOf(found.get('containerRuntimeEndpoint'));
  if (endpoint !== '') follow('imageServiceEndpoint', text(endpoint), 'that of the runtime');

  const update = found.get('nodeStatusUpdateFrequency');
  if (update !== undefined && update.origin.kind !== 'default') {
    follow('nodeStatusReportFrequency', update.value, 'follows nodeStatusUpdateFrequency');
  }

  const root = found.get('rootDir');
  if (root !== undefined && root.origin.kind !== 'default') {
    follow('certDir', text(join(textOf(root), 'pki')), 'below rootDir');
    follow('seccompProfileRoot', text(join(textOf(root), 'seccomp')), 'below rootDir');
  }

  if (textOf(found.get('vocabulary')) === 'kubernetes') {
    for (const key of ['contentType', 'volumePluginDir']) {
      follow(key, text(upstreamDefault(key)), 'of the vocabulary');
    }
  }
  return following;
}

/** Returns the effective value of every setting of `AgentConfig`, with its origin. */
export function resolveValues(flags: FlagValues, file: FileValues | undefined): ResolvedValues {
  const found = new Map(
    CONFIG_SETTINGS.map((setting) => [setting.key, replaceZero(setting, findValue(setting, flags, file))]),
  );
  for (const [key, value] of followingDefaults(found)) found.set(key, value);
  return {
    values: new Map([...found].map(([key, { value }]) => [key, value])),
    origins: new Map([...found].map(([key, { origin }]) => [key, origin])),
  };
}
