/** Current node pressure, for the node status and for the admission of pods. */
import { createListeners } from '#api/kit/listeners.ts';
import type { PressureCondition } from '#eviction/signals.ts';

export type Conditions = ReadonlySet<PressureCondition>;

export interface NodePressure {
  readonly conditions: () => Conditions;
  readonly set: (conditions: Conditions) => void;
  /** @returns a function that unsubscribes */
  readonly onChange: (listener: (conditions: Conditions) => void) => () => void;
}

/** Starts without pressure. */
export function createNodePressure(): NodePressure {
  const listeners = createListeners<[conditions: Conditions]>('node pressure');
  let current: Conditions = new Set();
  return {
    conditions: () => current,
    set(conditions) {
      current = conditions;
      listeners.notify(conditions);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
