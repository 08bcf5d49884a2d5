/** delete: marks or removes, depending on propagation, grace period and finalizers. Source: deletion,
 *  document 1 §3. */
import { StatusError } from '#api/meta/status-error.ts';
import { notFound } from '#api/meta/status-errors.ts';
import type { ApiObject } from '../resources/contract.ts';
import { isStoredVersion, shownOf } from '../resources/storage-versions.ts';
import { type Tried, tryUntilDone } from './attempts.ts';
import type { Caller, DeleteRequest, Deletion, ObjectRef } from './contract.ts';
import { decideDeletion } from './decide-deletion.ts';
import {
  admissionRequest,
  bytesOf,
  checkPreconditions,
  decidingResource,
  resourceSubject,
  storedNow,
  storeKey,
  strategyContext,
  type VerbDeps,
  withResourceVersion,
  write,
} from './deps.ts';
import { type Attempt, copyLive, type Live } from './live.ts';

/** @throws StatusError NotFound, Conflict, or admission's error */
export async function deleteObject(
  deps: VerbDeps,
  ref: ObjectRef,
  request: DeleteRequest,
  caller: Caller,
): Promise<Deletion> {
  checkGrace(request);
  const attempt = (live: Live | undefined, tried: Tried): Promise<Attempt<Deletion>> => {
    if (live === undefined) throw notFound(resourceSubject(ref.resource), ref.name);
    return attemptDelete(deps, ref, live, request, caller, tried);
  };
  return await tryUntilDone(deps, ref, attempt, request);
}

function checkGrace({ gracePeriodSeconds }: DeleteRequest): void {
  if (gracePeriodSeconds !== undefined && gracePeriodSeconds < 0) {
    throw new StatusError('BadRequest', `gracePeriodSeconds must not be negative, not ${gracePeriodSeconds}`);
  }
}

async function attemptDelete(
  deps: VerbDeps,
  ref: ObjectRef,
  live: Live,
  request: DeleteRequest,
  caller: Caller,
  tried: Tried,
): Promise<Attempt<Deletion>> {
  const base = decidingResource(ref.resource);
  const copied = copyLive(live);
  const object = copied instanceof Promise ? await copied : copied;
  checkPreconditions(object, ref, request.preconditions);
  if (request.admitted !== true)
    await deps.admission.validate(
      admissionRequest('DELETE', ref, { object: undefined, old: object }, { dryRun: request.dryRun }, caller),
    );
  const decision = decideDeletion(object, base, request, strategyContext(deps, ref, request.dryRun, caller));
  const shown = decision.kind === 'mark' ? decision.object : object;
  const removed = decision.kind === 'remove';
  if (request.dryRun) {
    return { kind: 'done', result: { object: await shownOf(ref.resource, shown), removed } };
  }
  if (decision.kind === 'pending') {
    return { kind: 'done', result: await deletionOf(deps, ref, shown, live.revision, removed) };
  }
  const key = storeKey(ref);
  tried.wrote = true;
  const result = await write(() =>
    removed
      ? deps.store.delete(key, live.revision)
      : deps.store.put(key, bytesOf(deps, key, shown), live.revision),
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
