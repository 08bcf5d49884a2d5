/** Validation of durations: none is negative, and intervals are positive. */
import { formatDurationMs } from '#api/meta/duration.ts';
import type { AgentConfig } from '../gen/config.ts';
import { settingValues } from '../setting-values.ts';
import { CONFIG_SETTINGS } from '../table.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

/** Disabled by a negative value. */
const MAY_BE_NEGATIVE: ReadonlySet<string> = new Set(['volumeStatsAggPeriod']);

/** Intervals; zero would loop without a pause. */
const ABOVE_ZERO: ReadonlySet<string> = new Set([
  'syncFrequency',
  'fileCheckFrequency',
  'httpCheckFrequency',
  'nodeStatusUpdateFrequency',
  'nodeStatusReportFrequency',
  'runtimeRequestTimeout',
  'cpuManagerReconcilePeriod',
  'logging.flushFrequency',
]);

/** Returns the validation errors of the durations. */
export function validateTimes(config: AgentConfig): readonly ConfigFieldError[] {
  const values = settingValues(config);
  return CONFIG_SETTINGS.flatMap(({ key, type, range }) => {
    const value = values.get(key);
    if (type !== 'duration' || typeof value !== 'number' || range !== undefined) return [];
    const badValue = formatDurationMs(value);
    if (ABOVE_ZERO.has(key)) {
      return value > 0 ? [] : [errorOf(key, 'must be longer than 0s', { badValue })];
    }
    return value >= 0 || MAY_BE_NEGATIVE.has(key) ? [] : [errorOf(key, 'must not be negative', { badValue })];
  });
}
