/** All verbs over one store and cache. */

import { notFound } from '#api/meta/status-errors.ts';
import type { Verbs } from './contract.ts';
import { createObject } from './create.ts';
import { deleteCollection, deleteObject } from './delete.ts';
import { admissionRequest, cacheKey, cacheOf, resourceSubject, type VerbDeps } from './deps.ts';
import { updateObject } from './update.ts';

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
