/** Asks the store for its newest revision, for many at a time: an answer serves everybody who asked before the
 *  question was put, so no one gets an answer that is older than his own question. */

/** Makes `ask` shared. */
export function shareQuestion(ask: () => Promise<number>): () => Promise<number> {
  let running: Promise<number> | undefined;
  let following: Promise<number> | undefined;

  function begin(): Promise<number> {
    const mine = ask().finally(() => {
      if (running === mine) running = undefined;
    });
    running = mine;
    return mine;
  }

  async function afterRunning(): Promise<number> {
    await running?.catch(() => undefined);
    following = undefined;
    return begin();
  }

  return () => {
    if (running === undefined) return begin();
    following ??= afterRunning();
    return following;
  };
}
