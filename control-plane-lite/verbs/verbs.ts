/** All verbs over one store and cache. */
import { createLimiter } from '#api/kit/limiter.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { notFound } from '#api/meta/status-errors.ts';
import type { Resource } from '../resources/contract.ts';
import type { Caller, DeleteRequest, Deletion, ObjectRef, Selection, Verbs } from './contract.ts';
import { createObject } from './create.ts';
import { deleteObject } from './delete.ts';
import { admissionRequest, cacheKey, cacheOf, resourceSubject, type VerbDeps } from './deps.ts';
import { updateObject } from './update.ts';

/** Concurrent deletions of one collection. */
const COLLECTION_CONCURRENCY = 16;

export function createVerbs(deps: VerbDeps): Verbs {
  return {
    async get(ref) {
      await deps.cache.waitForNewest();
      const found = cacheOf(deps, ref.resource).get(cacheKey(ref));
      if (found === undefined) throw notFound(resourceSubject(ref.resource), ref.name);
      return found;
    },
    create: (ref, object, options, caller) => createObject(deps, ref, object, options, caller),
    update: (ref, change, options, caller) => updateObject(deps, ref, change, options, caller),
    delete: (ref, request, caller) => deleteObject(deps, ref, request, caller),
    async admit(ref, draft, { operation, ...options }, caller) {
      const request = admissionRequest(operation, ref, { object: draft, old: undefined }, options, caller);
      await deps.admission.mutate(request);
      await deps.admission.validate(request);
    },
    deleteCollection: (resource, selection, request, caller) =>
      deleteCollection(deps, resource, selection, request, caller),
  };
}

/** Returns every object of the collection at its current state; an object that is deleted meanwhile is not an
 *  error. */
async function deleteCollection(
  deps: VerbDeps,
  resource: Resource,
  selection: Selection,
  request: DeleteRequest,
  caller: Caller,
): Promise<readonly Deletion[]> {
  await deps.cache.waitForNewest();
  const { items } = await cacheOf(deps, resource).list(selection);
  const limiter = createLimiter(COLLECTION_CONCURRENCY);
  const results = await Promise.all(
    items.map(({ namespace, name }) =>
      limiter.run(() => deleteIfThere(deps, { resource, namespace, name }, request, caller)),
    ),
  );
  return results.filter((deletion) => deletion !== undefined);
}

async function deleteIfThere(
  deps: VerbDeps,
  ref: ObjectRef,
  request: DeleteRequest,
  caller: Caller,
): Promise<Deletion | undefined> {
  try {
    return await deleteObject(deps, ref, request, caller);
  } catch (thrown) {
    if (thrown instanceof StatusError && thrown.reason === 'NotFound') return undefined;
    throw thrown;
  }
}
