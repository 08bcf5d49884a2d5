/** Yields to the event loop after a few milliseconds of work. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '#api/kit/clock.ts';

/** Maximum time of uninterrupted work, in ms. */
const TURN_MS = 5;

/** Returns undefined within the time slice, and a promise to await when it is over. */
export type Turns = () => Promise<void> | undefined;

export function createTurns({ monotonic }: Pick<Clock, 'monotonic'>): Turns {
  let beganMs = monotonic();
  async function pass(): Promise<void> {
    await nextTurn();
    beganMs = monotonic();
  }
  return () => (monotonic() - beganMs < TURN_MS ? undefined : pass());
}

/** Runs all steps of a generator. @throws errors of the steps */
export async function inTurns<T>(steps: Generator<undefined, T>, turns: Turns): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    const over = turns();
    if (over !== undefined) await over;
  }
}
