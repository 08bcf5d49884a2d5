/** Validation of eviction: known signals, comparable amounts, and a grace period for each soft threshold. */

import type { AgentConfig } from '../gen/config.ts';
import { amountError, graceError, signalError } from '../values/eviction-expressions.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

type MapKey = 'evictionHard' | 'evictionSoft' | 'evictionSoftGracePeriod' | 'evictionMinimumReclaim';

function checkEntries(
  config: AgentConfig,
  key: MapKey,
  check: (value: string) => string | undefined,
): readonly ConfigFieldError[] {
  return Object.entries(config[key]).flatMap(([signal, value]) => {
    const path = `[${signal}]`;
    const named = signalError(signal);
    const valued = check(value);
    return [
      ...(named === undefined ? [] : [errorOf(key, named, { kind: 'FieldValueNotSupported', path })]),
      ...(valued === undefined ? [] : [errorOf(key, valued, { badValue: value, path })]),
    ];
  });
}

/** Returns the validation errors of the eviction settings. */
export function validateEviction(config: AgentConfig): readonly ConfigFieldError[] {
  const errors = [
    ...checkEntries(config, 'evictionHard', amountError),
    ...checkEntries(config, 'evictionSoft', amountError),
    ...checkEntries(config, 'evictionSoftGracePeriod', graceError),
    ...checkEntries(config, 'evictionMinimumReclaim', (value) => amountError(value, true)),
  ];
  for (const [signal, badValue] of Object.entries(config.evictionSoft)) {
    if (config.evictionSoftGracePeriod[signal] !== undefined) continue;
    const detail = `needs a grace period: evictionSoftGracePeriod with ${signal}, such as 1m30s`;
    const others = ['evictionSoftGracePeriod'];
    errors.push(errorOf('evictionSoft', detail, { badValue, path: `[${signal}]`, others }));
  }
  return errors;
}
