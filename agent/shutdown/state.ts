/** Shutdown state of the machine, for the node status and for the admission of pods. */
import { createListeners } from '#api/kit/listeners.ts';

export interface ShutdownState {
  readonly active: () => boolean;
  readonly set: (active: boolean) => void;
  /** @returns a function that unsubscribes */
  readonly onChange: (listener: () => void) => () => void;
}

export function createShutdownState(): ShutdownState {
  const listeners = createListeners('shutdown');
  let current = false;
  return {
    active: () => current,
    set(active) {
      current = active;
      listeners.notify();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
