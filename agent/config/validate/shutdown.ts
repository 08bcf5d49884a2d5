/** Validation of the shutdown grace periods. */
import { formatDurationMs } from '#api/meta/duration.ts';
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

const SECOND_MS = 1000;

function checkPeriods(config: AgentConfig): readonly ConfigFieldError[] {
  const keys = ['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods'] as const;
  const errors = keys.flatMap((key) => {
    const value = config[key];
    if (value <= 0 || value >= SECOND_MS) return [];
    return [errorOf(key, 'must be 0s or at least 1s', { badValue: formatDurationMs(value) })];
  });
  const { shutdownGracePeriod: whole, shutdownGracePeriodCriticalPods: critical } = config;
  if (critical > whole) {
    const detail = `must not be longer than shutdownGracePeriod, which is ${formatDurationMs(whole)}`;
    const options = { badValue: formatDurationMs(critical), others: ['shutdownGracePeriod'] };
    errors.push(errorOf('shutdownGracePeriodCriticalPods', detail, options));
  }
  return errors;
}

function checkPriorities(config: AgentConfig): readonly ConfigFieldError[] {
  const key = 'shutdownGracePeriodByPodPriority';
  const seen = new Set<number>();
  return config[key].flatMap(({ priority, shutdownGracePeriodSeconds }, index) => {
    const errors: ConfigFieldError[] = [];
    if (seen.has(priority)) {
      const path = `[${index}].priority`;
      const detail = 'has a grace period already';
      errors.push(errorOf(key, detail, { kind: 'FieldValueDuplicate', badValue: priority, path }));
    }
    seen.add(priority);
    if (shutdownGracePeriodSeconds < 0) {
      const path = `[${index}].shutdownGracePeriodSeconds`;
      errors.push(errorOf(key, 'must not be negative', { badValue: shutdownGracePeriodSeconds, path }));
    }
    return errors;
  });
}

/** Returns the validation errors of the shutdown grace periods. */
export function validateShutdown(config: AgentConfig): readonly ConfigFieldError[] {
  const errors = [...checkPeriods(config), ...checkPriorities(config)];
  const plain = (['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods'] as const).filter(
    (key) => config[key] !== 0,
  );
  if (config.shutdownGracePeriodByPodPriority.length > 0 && plain.length > 0) {
    const detail = `cannot be combined with ${plain.join(' and ')}; specify one kind`;
    errors.push(
      errorOf('shutdownGracePeriodByPodPriority', detail, { kind: 'FieldValueForbidden', others: plain }),
    );
  }
  return errors;
}
