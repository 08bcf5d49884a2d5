/** All verbs over one store and cache, and the admission plugins that they run. */

import { notFound } from '#api/meta/status-errors.ts';
import type { AdmissionPlugin, AdmissionRequest, Operation } from '../admission/contract.ts';
import type { Resource } from '../resources/contract.ts';
import type { Verbs } from './contract.ts';
import { createObject } from './create.ts';
import { deleteCollection, deleteObject } from './delete.ts';
import {
  type AdmissionChain,
  admissionRequest,
  cacheKey,
  cacheOf,
  resourceSubject,
  type VerbDeps,
} from './deps.ts';
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

type Step = (request: AdmissionRequest) => void | Promise<void>;

/** The admission steps of one operation on one resource. */
interface Steps {
  readonly mutate: readonly Step[];
  readonly validate: readonly Step[];
}

/** Calls plugins in the given order. The first rejection ends the request. */
export function createAdmissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  // Resources come and go with their definitions: the steps are cached as long as the resource exists.
  const known = new WeakMap<Resource, Map<Operation, Steps>>();

  function stepsOf({ resource, operation }: AdmissionRequest): Steps {
    const operations = known.get(resource) ?? new Map<Operation, Steps>();
    known.set(resource, operations);
    const found = operations.get(operation);
    if (found !== undefined) return found;
    const concerned = plugins.filter(
      (plugin) =>
        plugin.operations.includes(operation) &&
        (plugin.resources?.has(`${resource.info.group}/${resource.info.plural}`) ?? true),
    );
    const steps: Steps = {
      mutate: concerned.flatMap((plugin) => plugin.mutate?.bind(plugin) ?? []),
      validate: concerned.flatMap((plugin) => plugin.validate?.bind(plugin) ?? []),
    };
    operations.set(operation, steps);
    return steps;
  }

  async function take(steps: readonly Step[], request: AdmissionRequest): Promise<void> {
    for (const step of steps) {
      const admitted = step(request);
      if (admitted instanceof Promise) await admitted;
    }
  }

  return {
    mutate: (request) => take(stepsOf(request).mutate, request),
    validate: (request) => take(stepsOf(request).validate, request),
  };
}
