/** Lets requests that come in one turn of the event loop go their way side by side.
 *
 *  A request's way has more code than a processor keeps at hand. One after the other, each request has all of it
 *  fetched anew; side by side, each step is done for all of them before the next one begins (decision 0066). */

/** Together they take less time than a turn of the event loop may. */
const MOST = 32;

/** @param defer has a task called when this turn has brought all that it brings
 *  @returns to be awaited by each request before its first step */
export function createSideBySide(defer: (task: () => void) => void): () => Promise<void> {
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
