/** Coalesces queries for the store's newest revision: one response serves all callers that waited before the
 *  query was sent, so no caller gets a revision older than its own call. */

/** Coalesces calls of `query`. One query is in flight at a time; the next is sent when it has returned,
 *  together with the calls of other connections in that turn of the event loop. A failed query fails its own
 *  callers only.
 *  @param defer runs a task in a later turn of the event loop */
export function coalesce(
  query: () => Promise<number>,
  defer: (task: () => void) => void,
): () => Promise<number> {
  /** Not sent yet: new callers join it. */
  let waiting: Promise<number> | undefined;
  /** Settles with the last query that was sent, and never rejects. */
  let settled: Promise<unknown> = Promise.resolve();

  async function putLater(): Promise<number> {
    await settled;
    await new Promise<void>((resolve) => defer(resolve));
    waiting = undefined;
    const response = query();
    settled = response.catch(() => undefined);
    return response;
  }

  return () => {
    waiting ??= putLater();
    return waiting;
  };
}
