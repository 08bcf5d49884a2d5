/** Splits long computations into short turns that yield to the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises';

const TURN_MS = 5;

/** Resolves when the work may go on: mostly at once. */
export function createTurns(): () => Promise<void> | undefined {
  let start = performance.now();
  async function pause(): Promise<void> {
    await nextTurn();
    start = performance.now();
  }
  return () => (performance.now() - start < TURN_MS ? undefined : pause());
}
