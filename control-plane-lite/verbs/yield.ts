/** Work on large objects, cut into turns of the event loop: each step on one takes as long as a turn may. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** From this size on, in bytes, a step on an object takes some ms. */
export const LARGE_BYTES: number = 256 * 1024;

/** To be awaited between two steps on a large object. */
export const yieldToEventLoop = (): Promise<void> => nextTurn();

export const isLarge = ({ length }: Buffer): boolean => length >= LARGE_BYTES;

/** A step on a large object, in a turn of its own. */
export async function betweenTurns<T>(step: () => T): Promise<T> {
  await yieldToEventLoop();
  const result = step();
  await yieldToEventLoop();
  return result;
}
