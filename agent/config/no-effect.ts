/** Settings and feature gates of a configuration that have no effect, for warnings and views. */
import { effectText, type NoEffect, noEffectWarnings, type SetInVain } from '#api/schema/effect.ts';
import { gatesSetInVain } from '#api/schema/gate-effects.ts';
import type { AgentConfig } from './gen/config.ts';
import { formatOrigin, type Origins } from './origin.ts';
import type { Setting } from './setting.ts';
import { settingValues } from './setting-values.ts';
import { CONFIG_SETTINGS } from './table.ts';

/** Reports whether the agent behaves as the value requests anyway: a switch is off, a text is empty. */
function isMet(effect: NoEffect, value: unknown): boolean {
  return effect.always === undefined ? value === false || value === '' : value === effect.always;
}

/** Settings and gates that the user has set without effect. */
function settingsInVain(config: AgentConfig, origins: Origins): readonly SetInVain[] {
  const values = settingValues(config);
  const settings = CONFIG_SETTINGS.flatMap(({ key, acted }): readonly SetInVain[] => {
    const origin = origins.get(key);
    if (acted === true || origin === undefined || origin.kind === 'default') return [];
    return isMet(acted, values.get(key)) ? [] : [{ subject: formatOrigin(origin), effect: acted }];
  });
  return [...settings, ...gatesSetInVain(config.featureGates, 'nodeagent')];
}

/** Returns the warnings about them, at most two. */
export const inVainWarnings = (config: AgentConfig, origins: Origins): readonly string[] =>
  noEffectWarnings(settingsInVain(config, origins));

/** Returns the note on the effect of a setting for the configuration view; empty where it has an effect. */
export function effectNote(setting: Setting, config: AgentConfig): string {
  if (setting.acted !== true) return effectText(setting.acted);
  if (setting.type !== 'gates') return '';
  return gatesSetInVain(config.featureGates, 'nodeagent', (name) => name)
    .map(({ subject, effect }) => `${subject} (${effectText(effect)})`)
    .join(', ');
}
