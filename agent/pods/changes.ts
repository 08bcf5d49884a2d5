/** Notifies subscribers that a pod may have changed. Carries no details; subscribers read the state
 *  themselves. */
import { createListeners } from '#api/kit/listeners.ts';

export interface Changes {
  readonly notify: () => void;
  /** @returns a function that cancels the subscription */
  readonly subscribe: (listener: () => void) => () => void;
}

export function createChanges(): Changes {
  const listeners = createListeners('pod changes');
  return {
    notify() {
      listeners.notify();
    },
    subscribe(listener) {
      // Wrapped, so that the same listener can subscribe twice.
      const own = (): void => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
  };
}
