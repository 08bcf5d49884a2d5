/** Splits work on large objects into turns of the event loop: each step on one takes as long as a turn
 *  may. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { finish, finishInTurns, type Steps } from '#api/kit/steps.ts';

/** From this size on, in bytes, a step on an object takes several ms. */
export const LARGE_BYTES: number = 128 * 1024;

/** Large bodies that are worked on at once, each with a few tens of MiB; others wait. */
export const MAX_LARGE_BODIES = 8;

/** Awaited between two steps on a large object. */
export const yieldToEventLoop = (): Promise<void> => nextTurn();

/** Is waited for between two steps on a large object. */
export type Turn = () => Promise<void>;

/** A turn of others; nothing more is done for a client that is gone, or once its time is up. The signal is asked for in a
 *  turn only: most requests never need one. */
export const turnOf =
  (asker: { readonly signal: AbortSignal }): Turn =>
  async () => {
    await nextTurn();
    asker.signal.throwIfAborted();
  };

export const isLarge = ({ length }: Buffer): boolean => length >= LARGE_BYTES;

/** Steps on an object: on a large one, each in a turn of its own. */
export const finishSteps = <T>(
  steps: Steps<T>,
  inTurns: boolean,
  turn: () => Promise<void> = yieldToEventLoop,
): T | Promise<T> => (inTurns ? finishInTurns(steps, turn) : finish(steps));
