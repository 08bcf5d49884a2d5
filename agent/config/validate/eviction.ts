/** Validation of eviction: known signals, comparable amounts, and a grace period for each soft threshold. */

import type { AgentConfig } from '../gen/config.ts';
import { amountFault, graceFault, signalFault } from '../values/eviction-expressions.ts';
import { type ConfigFault, faultOf } from './fault.ts';

type MapKey = 'evictionHard' | 'evictionSoft' | 'evictionSoftGracePeriod' | 'evictionMinimumReclaim';

function checkEntries(
  config: AgentConfig,
  key: MapKey,
  check: (value: string) => string | undefined,
): readonly ConfigFault[] {
  return Object.entries(config[key]).flatMap(([signal, value]) => {
    const path = `[${signal}]`;
    const named = signalFault(signal);
    const valued = check(value);
    return [
      ...(named === undefined ? [] : [faultOf(key, named, { kind: 'FieldValueNotSupported', path })]),
      ...(valued === undefined ? [] : [faultOf(key, valued, { badValue: value, path })]),
    ];
  });
}

/** Returns the validation errors of the eviction settings. */
export function validateEviction(config: AgentConfig): readonly ConfigFault[] {
  const faults = [
    ...checkEntries(config, 'evictionHard', amountFault),
    ...checkEntries(config, 'evictionSoft', amountFault),
    ...checkEntries(config, 'evictionSoftGracePeriod', graceFault),
    ...checkEntries(config, 'evictionMinimumReclaim', (value) => amountFault(value, true)),
  ];
  for (const [signal, badValue] of Object.entries(config.evictionSoft)) {
    if (config.evictionSoftGracePeriod[signal] !== undefined) continue;
    const detail = `needs a grace period: evictionSoftGracePeriod with ${signal}, such as 1m30s`;
    const others = ['evictionSoftGracePeriod'];
    faults.push(faultOf('evictionSoft', detail, { badValue, path: `[${signal}]`, others }));
  }
  return faults;
}
