/** Validation of the shutdown grace periods. */
import { formatDurationMs } from '#api/meta/duration.ts';
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFault, faultOf } from './fault.ts';

const SECOND_MS = 1000;

function checkPeriods(config: AgentConfig): readonly ConfigFault[] {
  const keys = ['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods'] as const;
  const faults = keys.flatMap((key) => {
    const value = config[key];
    if (value <= 0 || value >= SECOND_MS) return [];
    return [faultOf(key, 'must be 0s or at least 1s', { badValue: formatDurationMs(value) })];
  });
  const { shutdownGracePeriod: whole, shutdownGracePeriodCriticalPods: critical } = config;
  if (critical > whole) {
    const detail = `must not be longer than shutdownGracePeriod, which is ${formatDurationMs(whole)}`;
    const options = { badValue: formatDurationMs(critical), others: ['shutdownGracePeriod'] };
    faults.push(faultOf('shutdownGracePeriodCriticalPods', detail, options));
  }
  return faults;
}

function checkPriorities(config: AgentConfig): readonly ConfigFault[] {
  const key = 'shutdownGracePeriodByPodPriority';
  const seen = new Set<number>();
  return config[key].flatMap(({ priority, shutdownGracePeriodSeconds }, index) => {
    const faults: ConfigFault[] = [];
    if (seen.has(priority)) {
      const path = `[${index}].priority`;
      const detail = 'has a grace period already';
      faults.push(faultOf(key, detail, { kind: 'FieldValueDuplicate', badValue: priority, path }));
    }
    seen.add(priority);
    if (shutdownGracePeriodSeconds < 0) {
      const path = `[${index}].shutdownGracePeriodSeconds`;
      faults.push(faultOf(key, 'must not be negative', { badValue: shutdownGracePeriodSeconds, path }));
    }
    return faults;
  });
}

/** Returns the validation errors of the shutdown grace periods. */
export function validateShutdown(config: AgentConfig): readonly ConfigFault[] {
  const faults = [...checkPeriods(config), ...checkPriorities(config)];
  const plain = (['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods'] as const).filter(
    (key) => config[key] !== 0,
  );
  if (config.shutdownGracePeriodByPodPriority.length > 0 && plain.length > 0) {
    const detail = `cannot be combined with ${plain.join(' and ')}; specify one kind`;
    faults.push(
      faultOf('shutdownGracePeriodByPodPriority', detail, { kind: 'FieldValueForbidden', others: plain }),
    );
  }
  return faults;
}
