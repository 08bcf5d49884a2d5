/** Validation of a whole configuration. Pure; returns all errors. */
import { checkGates, namedGateEnabled } from '#api/schema/feature-gates.ts';
import type { AgentConfig } from '../gen/config.ts';
import type { ConfigValue } from '../reader.ts';
import { defaultValue } from '../resolve.ts';
import type { Setting } from '../setting.ts';
import { settingValues } from '../setting-values.ts';
import { CONFIG_SETTINGS } from '../table.ts';
import { checkValue } from '../values/check.ts';
import { validateAgent } from './agent.ts';
import { validateEviction } from './eviction.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';
import { validateImages } from './images.ts';
import { validateLogging } from './logging.ts';
import { validateNetwork } from './network.ts';
import { validateNode } from './node.ts';
import { validateReservations } from './reservations.ts';
import { validateResources } from './resources.ts';
import { validateServing } from './serving.ts';
import { validateShutdown } from './shutdown.ts';
import { validateTimes } from './times.ts';

export type { ConfigFieldError } from './fault.ts';

type Rule = (config: AgentConfig) => readonly ConfigFieldError[];

const RULES: readonly Rule[] = [
  checkTable,
  checkFeatureGates,
  checkNeededGates,
  validateTimes,
  validateAgent,
  validateImages,
  validateNetwork,
  validateResources,
  validateReservations,
  validateEviction,
  validateShutdown,
  validateNode,
  validateServing,
  validateLogging,
];

/** Returns all validation errors: values outside their range, and conflicting combinations. */
export function validateConfig(config: AgentConfig): readonly ConfigFieldError[] {
  return RULES.flatMap((rule) => rule(config));
}

function simpleValue(raw: unknown): ConfigValue | undefined {
  if (typeof raw === 'number' || typeof raw === 'bigint') return { shape: 'number', value: raw };
  if (typeof raw === 'string') return { shape: 'text', value: raw };
  const texts = Array.isArray(raw) ? raw.filter((item) => typeof item === 'string') : [];
  return texts.length === 0 ? undefined : { shape: 'texts', value: texts };
}

/** Ranges and allowed values of the table. */
function checkTable(config: AgentConfig): readonly ConfigFieldError[] {
  const values = settingValues(config);
  return CONFIG_SETTINGS.flatMap((setting) => {
    const value = simpleValue(values.get(setting.key));
    const errors = value === undefined ? [] : checkValue(setting, value);
    return errors.map(({ kind, detail, badValue, path }) =>
      errorOf(setting.key, detail, { kind, badValue, path }),
    );
  });
}

function checkFeatureGates(config: AgentConfig): readonly ConfigFieldError[] {
  return checkGates(config.featureGates).map((error) => ({ ...error, settings: ['featureGates'] }));
}

/** Effective defaults with or without a file, as JSON for comparison. */
function isDefault(setting: Setting, value: unknown): boolean {
  const text = JSON.stringify(value);
  return [false, true].some((withFile) => JSON.stringify(defaultValue(setting, withFile).value) === text);
}

/** Returns errors of values that need a disabled feature gate. */
function checkNeededGates(config: AgentConfig): readonly ConfigFieldError[] {
  const values = settingValues(config);
  return CONFIG_SETTINGS.flatMap((setting) => {
    const value = values.get(setting.key);
    const missing = (setting.gates ?? []).filter((gate) => !namedGateEnabled(config.featureGates, gate));
    if (missing.length === 0 || isDefault(setting, value)) return [];
    const detail = `needs the feature gate ${missing.map((gate) => `${gate}=true`).join(' and ')}`;
    return [
      errorOf(setting.key, detail, {
        kind: 'FieldValueForbidden',
        badValue: value,
        others: ['featureGates'],
      }),
    ];
  });
}
