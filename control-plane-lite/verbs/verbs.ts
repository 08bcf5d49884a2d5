/** All verbs over one store and cache. */
import { createLimiter } from '#api/kit/limiter.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { notFound } from '#api/meta/status-errors.ts';
import type { CollectionDelete, DeleteWrite, Deletion, Verbs } from './contract.ts';
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
    create: (write) => createObject(deps, write),
    update: (write) => updateObject(deps, write),
    delete: (write) => deleteObject(deps, write),
    async admit(admitted) {
      const { operation, draft, schema } = admitted;
      const objects = { object: draft, old: undefined, ...(schema === undefined ? {} : { schema }) };
      const request = admissionRequest(operation, admitted, objects);
      await deps.admission.mutate(request);
      await deps.admission.validate(request);
    },
    deleteCollection: (request) => deleteCollection(deps, request),
  };
}

/** Returns every object of the collection at its current state; an object that is deleted meanwhile is not an
 *  error. */
async function deleteCollection(
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
