/** Retries a write until it no longer conflicts with concurrent writers.
 *  Source: conflicts, document 1 §4.2; optimistic concurrency as in upstream's registry. */
import { objectModified } from '#api/meta/status-errors.ts';
import type { ObjectRef } from './contract.ts';
import { cacheKey, cacheOf, resourceSubject, type VerbDeps } from './deps.ts';
import { type Attempt, type Live, liveOf } from './live.ts';

/** State of a failed attempt. */
export interface Tried {
  /** The attempt reached the store with a conditional write on the live object it had read. */
  wrote: boolean;
}

type Try<T> = (live: Live | undefined, tried: Tried) => Promise<Attempt<T>>;

/** The object of the attempts. */
interface AttemptedWrite {
  readonly ref: ObjectRef;
  /** The store is not involved. */
  readonly dryRun: boolean;
}

/** Maximum number of conflicts before the client gets one. */
const MAX_ATTEMPTS = 64;

/** @throws any error of an attempt; StatusError Conflict after too many conflicts */
export async function tryUntilDone<T>(
  deps: VerbDeps,
  { ref, dryRun }: AttemptedWrite,
  attempt: Try<T>,
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

/** Attempts the write with the cached state. The cache may lag behind a store with other writers, but a
 *  conditional write detects that, and the query for the newest state, which takes as long as the write, is
 *  saved. An outcome before the write is only trusted if the cache was current.
 *  @returns undefined if the write has to be retried with the newest state */
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
    // A concurrent write may have caused the rejection, even if it was not to this object.
    if (cache.revision === revision) throw thrown;
    return undefined;
  }
}
