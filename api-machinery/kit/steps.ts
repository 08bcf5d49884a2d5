/** Long computations on schemas as short steps, between which the caller may yield to the event loop. */

/** Work that pauses after every few things that it has looked at. */
export type Steps<T> = Generator<void, T, void>;

/** All at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Called after every step: a promise is waited for before the next. */
export type Turns = () => Promise<void> | undefined;

/** In turns. @throws what the work throws */
export async function finishInTurns<T>(steps: Steps<T>, turns: Turns): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    const pause = turns();
    if (pause !== undefined) await pause;
  }
}
