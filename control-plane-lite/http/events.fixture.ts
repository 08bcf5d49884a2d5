/** Helpers that wait for events in tests. */

/** Resolves with the first argument of the event. */
export function firstOf(emitter: NodeJS.EventEmitter, event: string): Promise<unknown> {
  return new Promise((resolve) => emitter.once(event, (value: unknown) => resolve(value)));
}

/** Resolves at the end, whether or not an error came before. */
export const closed = (emitter: NodeJS.EventEmitter): Promise<unknown> => firstOf(emitter, 'close');
