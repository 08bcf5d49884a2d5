/** Configuration of EventRateLimit. Source: upstream's plugin, release 1.24. */
import type { Section } from '#api/client-config/fields.ts';
import { checkKind, integerIn, type PluginConfig, readPluginConfig } from '../configuration/plugin-config.ts';

const LIMIT_TYPES = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const;
export type LimitType = (typeof LIMIT_TYPES)[number];

export interface EventLimit {
  readonly type: LimitType;
  /** Events per second of each key. */
  readonly qps: number;
  readonly burst: number;
  /** Maximum number of keys; the ones not used for the longest time are forgotten. */
  readonly cacheSize: number;
}

const KINDS = [{ group: 'eventratelimit.admission', version: 'v1alpha1', kind: 'Configuration' }];
const DEFAULT_CACHE_SIZE = 4096;
const MAX = 2 ** 31 - 1;

function readLimit(section: Section): EventLimit {
  const given = section.text('type');
  const type = LIMIT_TYPES.find((each) => each === given);
  if (type === undefined)
    section.report('FieldValueNotSupported', 'type', `must be one of ${LIMIT_TYPES.join(', ')}`, given);
  const positive = (name: string): number => {
    if (section.value(name) === undefined) section.report('FieldValueRequired', name, 'must be positive');
    return integerIn(section, name, { fallback: 1, min: 1, max: MAX });
  };
  const cacheSize = integerIn(section, 'cacheSize', { fallback: 0, min: 0, max: MAX });
  return {
    type: type ?? 'Server',
    qps: positive('qps'),
    burst: positive('burst'),
    cacheSize: cacheSize === 0 ? DEFAULT_CACHE_SIZE : cacheSize,
  };
}

/** @throws PluginConfigError */
export function readEventLimits(config: PluginConfig): readonly EventLimit[] {
  return readPluginConfig(config, ['apiVersion', 'kind', 'limits'], (root) => {
    checkKind(root, KINDS);
    const limits = root.sections('limits', ['type', 'qps', 'burst', 'cacheSize']).map(readLimit);
    if (limits.length === 0) root.report('FieldValueRequired', 'limits', 'must not be empty');
    return limits;
  });
}
