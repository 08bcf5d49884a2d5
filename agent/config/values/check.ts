/** Checks a value against the range and the allowed values of the table. */

import type { Int64 } from '#api/kit/int64.ts';
import { suggestion } from '#api/kit/text/suggest.ts';
import { parseDurationMs } from '#api/meta/duration.ts';
import type { ConfigValue } from '../reader.ts';
import type { Setting } from '../setting.ts';
import { upstreamMember } from '../upstream.ts';
import type { ValueError } from './parsed.ts';

/** Returns a limit of the table as a number; durations in milliseconds. */
function limitOf(limit: number | string | null): number | undefined {
  if (limit === null) return undefined;
  return typeof limit === 'number' ? limit : parseDurationMs(limit);
}

function checkRange(setting: Setting, value: Int64): readonly ValueError[] {
  const [lowest, highest] = setting.range ?? [null, null];
  const low = limitOf(lowest);
  const high = limitOf(highest);
  if ((low === undefined || value >= low) && (high === undefined || value <= high)) return [];
  const rule =
    low === undefined
      ? `at most ${highest}`
      : high === undefined
        ? `at least ${lowest}`
        : `from ${lowest} to ${highest}`;
  return [{ kind: 'FieldValueInvalid', path: '', badValue: value, detail: `must be ${rule}` }];
}

function checkMember(allowed: readonly string[], text: string, path: string): readonly ValueError[] {
  if (allowed.includes(text)) return [];
  const shown = allowed.filter((value) => value !== '');
  const others = shown.map(upstreamMember).filter((value) => !shown.includes(value));
  const detail = `must be one of ${shown.join(', ')}${suggestion(text, [...shown, ...others])}`;
  return [{ kind: 'FieldValueNotSupported', path, badValue: text, detail }];
}

/** Returns the errors of a value against the range and the values of its setting. The default is always
 *  allowed. */
export function checkValue(setting: Setting, value: ConfigValue): readonly ValueError[] {
  if (value.shape === 'number') return checkRange(setting, value.value);
  const allowed = setting.enum;
  if (allowed === undefined) return [];
  if (value.shape === 'text') {
    return value.value === setting.default ? [] : checkMember(allowed, value.value, '');
  }
  if (value.shape !== 'texts') return [];
  return value.value.flatMap((text, index) => checkMember(allowed, text, `[${index}]`));
}
