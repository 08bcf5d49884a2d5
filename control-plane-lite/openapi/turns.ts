/** Long work in short turns, so that nobody else has to wait for it. */
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
