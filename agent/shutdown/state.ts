/** Whether the machine is shutting down, for the node's status and for pods that come. */

export interface ShutdownState {
  readonly active: () => boolean;
  readonly set: (active: boolean) => void;
  /** @returns a function that ends the subscription */
  readonly onChange: (listener: () => void) => () => void;
}

export function createShutdownState(): ShutdownState {
  const listeners = new Set<() => void>();
  let current = false;
  return {
    active: () => current,
    set(active) {
      current = active;
      for (const listener of listeners) listener();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
