/** Request batches: requests that arrive in one turn of the event loop are processed in step with each other. The code
 *  of a request's path exceeds the CPU's instruction cache. One after the other, each request loads all of it anew; in a
 *  batch, each step runs for all requests before the next one starts (decision 0066). Clients take turns for the places
 *  in a batch, so that one client's flood delays another's request by a short batch (decision 0147). */
import type { Clock } from '#api/kit/clock.ts';

/** Maximum batch size; a larger batch would take longer than a turn of the event loop may. */
const MOST = 32;
/** Maximum requests of one client in a batch while others have requests too. */
const MOST_OF_ONE = 4;
/** A client counts as one of several for this time after its last request, in ms. */
const RECENT_MS = 10_000;

export interface RequestBatchDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Schedules a task for the end of this turn's arrivals. */
  readonly defer: (task: () => void) => void;
}

/** @returns a function that each request awaits before its first step; `flow` names its client */
export function createRequestBatches({ clock, defer }: RequestBatchDeps): (flow: string) => Promise<void> {
  // In the order of their turns: a flow that was served moves to the end.
  const flows = new Map<string, (() => void)[]>();
  let lastFlow: string | undefined;
  let sharedUntilMs = Number.NEGATIVE_INFINITY;
  let isDue = false;

  /** Removes the next requests of the flow whose turn it is. */
  function takeTurn(most: number): readonly (() => void)[] {
    const [turn] = flows;
    if (turn === undefined) return [];
    const [flow, waiting] = turn;
    const taken = waiting.splice(0, most);
    flows.delete(flow);
    if (waiting.length > 0) flows.set(flow, waiting);
    return taken;
  }

  function nextBatch(): readonly (() => void)[] {
    const mostOfOne = clock.monotonic() < sharedUntilMs ? MOST_OF_ONE : MOST;
    const batch: (() => void)[] = [];
    for (let turns = flows.size; turns > 0 && batch.length < MOST; turns -= 1) {
      batch.push(...takeTurn(Math.min(mostOfOne, MOST - batch.length)));
    }
    return batch;
  }

  function go(): void {
    const batch = nextBatch();
    isDue = flows.size > 0;
    if (isDue) defer(go);
    for (const start of batch) start();
  }

  return (flow) => {
    if (flow !== lastFlow) {
      if (lastFlow !== undefined) sharedUntilMs = clock.monotonic() + RECENT_MS;
      lastFlow = flow;
    }
    return new Promise((resolve) => {
      const waiting = flows.get(flow);
      if (waiting === undefined) flows.set(flow, [resolve]);
      else waiting.push(resolve);
      if (isDue) return;
      isDue = true;
      defer(go);
    });
  };
}
