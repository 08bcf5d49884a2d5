/** Shared set-up: one instance for the tests of a file (or of a `describe`). */
import { afterAll, beforeAll } from 'vitest';

/** Starts an instance before the tests, disposes of it after them, and returns its accessor. Hooks that are
 *  registered later run while the instance exists.
 *  @throws Error from the accessor, outside of tests and hooks */
export function useShared<T extends AsyncDisposable>(start: () => Promise<T>): () => T {
  let instance: T | undefined;
  beforeAll(async () => {
    instance = await start();
  });
  afterAll(async () => {
    await instance?.[Symbol.asyncDispose]();
    instance = undefined;
  });
  return () => {
    if (instance === undefined) throw new Error('used before the set-up or after the tear-down');
    return instance;
  };
}
