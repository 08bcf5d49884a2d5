/** Request batching: requests that arrive in one turn of the event loop are processed in step with each
 *  other.
 *
 *  The code of a request's path exceeds the CPU's instruction cache. One after the other, each request loads
 *  all of it anew; in a batch, each step runs for all requests before the next one starts (decision 0066). */

/** Maximum batch size; a larger batch would take longer than a turn of the event loop may. */
const MOST = 32;

/** @param defer schedules a task for the end of this turn's arrivals
 *  @returns a function that each request awaits before its first step */
export function createRequestBatches(defer: (task: () => void) => void): () => Promise<void> {
  let waiting: (() => void)[] = [];

  function go(): void {
    const group = waiting.slice(0, MOST);
    waiting = waiting.slice(MOST);
    if (waiting.length > 0) defer(go);
    for (const start of group) start();
  }

  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) defer(go);
    });
}
