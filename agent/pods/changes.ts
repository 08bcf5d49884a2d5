/** Tells whoever follows the pods that one of them may have changed; what changed they see for themselves. */
import { createListeners } from '#api/kit/listeners.ts';

export interface Changes {
  readonly tell: () => void;
  /** @returns a function that ends the subscription */
  readonly subscribe: (listener: () => void) => () => void;
}

export function createChanges(): Changes {
  const listeners = createListeners('pod changes');
  return {
    tell() {
      listeners.notify();
    },
    subscribe(listener) {
      // A function of its own, so that the same listener may subscribe twice.
      const own = (): void => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
  };
}
