/** Values of a configuration by the keys of their settings. */
import type { AgentConfig } from './gen/config.ts';
import { SETTING_BY_KEY } from './table.ts';

function* entriesBelow(section: object, prefix: string): Generator<readonly [string, unknown]> {
  const members: readonly (readonly [string, unknown])[] = Object.entries(section);
  for (const [name, value] of members) {
    const key = prefix === '' ? name : `${prefix}.${name}`;
    if (SETTING_BY_KEY.has(key)) yield [key, value];
    else if (typeof value === 'object' && value !== null) yield* entriesBelow(value, key);
  }
}

/** Returns every value by its dotted key, in the order of the table. */
export function settingValues(config: AgentConfig): ReadonlyMap<string, unknown> {
  return new Map(entriesBelow(config, ''));
}
