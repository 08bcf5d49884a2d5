/** Work in turns: after a few milliseconds of it others have the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '#api/kit/clock.ts';

/** How long one piece of work may hold the event loop, in ms. */
const TURN_MS = 5;

/** Gives undefined while the turn goes on, and what to wait for when it is over. */
export type Turns = () => Promise<void> | undefined;

export function createTurns({ monotonic }: Pick<Clock, 'monotonic'>): Turns {
  let beganMs = monotonic();
  async function pass(): Promise<void> {
    await nextTurn();
    beganMs = monotonic();
  }
  return () => (monotonic() - beganMs < TURN_MS ? undefined : pass());
}

/** Takes all steps of a piece of work. @throws what the steps throw */
export async function inTurns<T>(steps: Generator<undefined, T>, turns: Turns): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    const over = turns();
    if (over !== undefined) await over;
  }
}
