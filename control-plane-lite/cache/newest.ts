/** Asks the store for its newest revision, for many at a time: an answer serves everybody who asked before the
 *  question was put, so no one gets an answer that is older than his own question. */

/** Makes `ask` shared. One question is under way at a time; the next is put when it is answered, together with what
 *  other connections ask in that turn of the event loop. A question that fails fails for those it was put for.
 *  @param defer has a task called in a later turn of the event loop */
export function shareQuestion(
  ask: () => Promise<number>,
  defer: (task: () => void) => void,
): () => Promise<number> {
  /** Not put yet: whoever asks now is served by it. */
  let waiting: Promise<number> | undefined;
  /** Ends with the last question that was put, and never fails. */
  let answered: Promise<unknown> = Promise.resolve();

  async function putLater(): Promise<number> {
    await answered;
    await new Promise<void>((resolve) => defer(resolve));
    waiting = undefined;
    const answer = ask();
    answered = answer.catch(() => undefined);
    return answer;
  }

  return () => {
    waiting ??= putLater();
    return waiting;
  };
}
