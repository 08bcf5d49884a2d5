/** Has a write tried until nobody else was faster.
 *  Source: document 1, 4.2; optimistic concurrency as upstream's registry has it. */
import { objectModified } from '#api/meta/status-errors.ts';
import type { ObjectRef } from './contract.ts';
import { cacheKey, cacheOf, resourceSubject, type VerbDeps } from './deps.ts';
import { type Attempt, type Live, liveOf } from './live.ts';

/** What is known of an attempt that failed. */
export interface Tried {
  /** It came as far as asking the store to write, on condition that the live object is still the one it has. */
  wrote: boolean;
}

type Try<T> = (live: Live | undefined, tried: Tried) => Promise<Attempt<T>>;

export interface AttemptOptions {
  /** Nothing is asked of the store. */
  readonly dryRun: boolean;
}

/** Others may be faster this often before the client is told to try again. */
const MAX_ATTEMPTS = 64;

/** @throws what an attempt throws; StatusError Conflict if others were faster too often */
export async function tryUntilDone<T>(
  deps: VerbDeps,
  ref: ObjectRef,
  attempt: Try<T>,
  { dryRun }: AttemptOptions,
): Promise<T> {
  let result = deps.store.isShared && !dryRun ? await tryCached(deps, ref, attempt) : undefined;
  for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts += 1) {
    if (result?.kind === 'done') return result.result;
    const live = result === undefined ? await newestOf(deps, ref) : liveOf(result.current);
    result = await attempt(live, { wrote: false });
  }
  if (result?.kind === 'done') return result.result;
  throw objectModified(resourceSubject(ref.resource), ref.name);
}

const cached = (deps: VerbDeps, ref: ObjectRef): Live | undefined =>
  cacheOf(deps, ref.resource).get(cacheKey(ref));

async function newestOf(deps: VerbDeps, ref: ObjectRef): Promise<Live | undefined> {
  await deps.cache.waitForNewest();
  return cached(deps, ref);
}

/** Tries with what the cache has. It may be behind a store that others write to, but a write on condition can't be
 *  fooled by that, and the question for the newest state, which takes as long as the write, is saved. What ends before
 *  the write is only believed if nothing has changed.
 *  @returns undefined if it is to be tried with the newest state */
async function tryCached<T>(
  deps: VerbDeps,
  ref: ObjectRef,
  attempt: Try<T>,
): Promise<Attempt<T> | undefined> {
  const { cache } = deps;
  const live = cached(deps, ref);
  if (live === undefined) return undefined;
  const { revision } = cache;
  const tried: Tried = { wrote: false };
  try {
    const result = await attempt(live, tried);
    if (tried.wrote) return result;
    const newest = await newestOf(deps, ref);
    return newest?.revision === live.revision ? result : undefined;
  } catch (thrown) {
    if (tried.wrote) throw thrown;
    await cache.waitForNewest();
    // What others wrote may be what it was refused for, even if it is not this object.
    if (cache.revision === revision) throw thrown;
    return undefined;
  }
}
