/** delete: marks or removes, depending on propagation, grace period and finalizers. Source: deletion,
 *  document 1 §3. */
import { createLimiter } from '#api/kit/limiter.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { notFound } from '#api/meta/status-errors.ts';
import type { ApiObject } from '../resources/contract.ts';
import { isStoredVersion, shownOf } from '../resources/storage-versions.ts';
import { type Tried, tryUntilDone } from './attempts.ts';
import type { CollectionDelete, DeleteWrite, Deletion, ObjectRef } from './contract.ts';
import { decideDeletion } from './decide-deletion.ts';
import {
  admissionRequest,
  bytesOf,
  cacheOf,
  checkPreconditions,
  decidingResource,
  resourceSubject,
  storedNow,
  storeKey,
  strategyContext,
  type VerbDeps,
  withResourceVersion,
  writeToStore,
} from './deps.ts';
import { type Attempt, copyLive, type Live } from './live.ts';

/** @throws StatusError NotFound, Conflict, or admission's error */
export async function deleteObject(deps: VerbDeps, write: DeleteWrite): Promise<Deletion> {
  checkGrace(write);
  const { ref } = write;
  const attempt = (live: Live | undefined, tried: Tried): Promise<Attempt<Deletion>> => {
    if (live === undefined) throw notFound(resourceSubject(ref.resource), ref.name);
    return attemptDelete(deps, write, live, tried);
  };
  return await tryUntilDone(deps, write, attempt);
}

function checkGrace({ gracePeriodSeconds }: DeleteWrite): void {
  if (gracePeriodSeconds !== undefined && gracePeriodSeconds < 0) {
    throw new StatusError('BadRequest', `gracePeriodSeconds must not be negative, not ${gracePeriodSeconds}`);
  }
}

async function attemptDelete(
  deps: VerbDeps,
  write: DeleteWrite,
  live: Live,
  tried: Tried,
): Promise<Attempt<Deletion>> {
  const { ref } = write;
  const base = decidingResource(ref.resource);
  const copied = copyLive(live);
  const object = copied instanceof Promise ? await copied : copied;
  checkPreconditions(object, ref, write.preconditions);
  if (write.admitted !== true) {
    await deps.admission.validate(admissionRequest('DELETE', write, { object: undefined, old: object }));
  }
  const decision = decideDeletion(object, base, write, strategyContext(deps, write));
  const shown = decision.kind === 'mark' ? decision.object : object;
  const removed = decision.kind === 'remove';
  if (write.dryRun) {
    return { kind: 'done', result: { object: await shownOf(ref.resource, shown), removed } };
  }
  if (decision.kind === 'pending') {
    return { kind: 'done', result: await deletionOf(deps, ref, shown, live.revision, removed) };
  }
  const key = storeKey(ref);
  tried.wrote = true;
  const result = await writeToStore(() =>
    removed
      ? deps.store.delete(key, live.revision)
      : deps.store.put(key, bytesOf(deps, ref, shown), live.revision),
  );
  if (!result.ok) return { kind: 'raced', current: result.current };
  if (removed) await base.strategy.release?.(object);
  return { kind: 'done', result: await deletionOf(deps, ref, shown, result.revision, removed) };
}

async function deletionOf(
  deps: VerbDeps,
  ref: ObjectRef,
  object: ApiObject,
  revision: number,
  removed: boolean,
): Promise<Deletion> {
  const shown = removed ? object : withResourceVersion(object, revision);
  // The response contains only its name and uid, so that a failing conversion cannot hide the result from the
  // client.
  if (removed && ref.resource.info.deleteReturns === 'Status') return { object: shown, removed };
  const stored = removed || !isStoredVersion(ref.resource) ? undefined : storedNow(deps, ref, revision);
  return {
    object: await shownOf(ref.resource, shown),
    removed,
    ...(stored === undefined ? {} : { stored }),
  };
}

/** Concurrent deletions of one collection. */
const COLLECTION_CONCURRENCY = 16;

/** Deletes the selected objects and returns them; an object that is deleted meanwhile is not an error. */
export async function deleteCollection(
  deps: VerbDeps,
  { resource, selection, ...request }: CollectionDelete,
): Promise<readonly Deletion[]> {
  await deps.cache.waitForNewest();
  const { items } = await cacheOf(deps, resource).list(selection);
  const limiter = createLimiter(COLLECTION_CONCURRENCY);
  const results = await Promise.all(
    items.map(({ namespace, name }) =>
      limiter.run(() => deleteIfThere(deps, { ...request, ref: { resource, namespace, name } })),
    ),
  );
  return results.filter((deletion) => deletion !== undefined);
}

async function deleteIfThere(deps: VerbDeps, write: DeleteWrite): Promise<Deletion | undefined> {
  try {
    return await deleteObject(deps, write);
  } catch (thrown) {
    if (thrown instanceof StatusError && thrown.reason === 'NotFound') return undefined;
    throw thrown;
  }
}
