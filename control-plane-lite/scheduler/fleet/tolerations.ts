/** Evaluates tolerations against taints. Pure. Source: upstream's taints and tolerations, release 1.24. */
import type { Taint, Toleration } from '#api/gen/core-v1.ts';

function matches(toleration: Toleration, taint: Taint): boolean {
  const { key = '', effect = '', operator = 'Equal', value = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  // Without a key, only `Exists` means anything: every taint.
  return operator === 'Exists' || (key !== '' && value === (taint.value ?? ''));
}

export const tolerates = (tolerations: readonly Toleration[], taint: Taint): boolean =>
  tolerations.some((toleration) => matches(toleration, taint));
