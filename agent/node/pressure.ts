/** What the node is short of, as whoever watches it has found: for the node's status, and for pods that come. */
import { createListeners } from '#api/kit/listeners.ts';
import type { PressureCondition } from '#eviction/signals.ts';

export type Conditions = ReadonlySet<PressureCondition>;

export interface NodePressure {
  readonly conditions: () => Conditions;
  readonly set: (conditions: Conditions) => void;
  /** @returns a function that ends the subscription */
  readonly onChange: (listener: (conditions: Conditions) => void) => () => void;
}

/** Nothing is short until it is found to be. */
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
