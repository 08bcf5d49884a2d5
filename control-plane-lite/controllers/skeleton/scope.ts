/** Limits a controller to the kinds that it declares. A violation is a defect of the controller. */
import type { Cache } from '../../cache/contract.ts';
import type { Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { Verbs } from '../../verbs/contract.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { Controller, KindWrites } from './declaration.ts';

/** A controller accessed a kind that it does not declare. */
export class UndeclaredError extends Error {
  override readonly name = 'UndeclaredError';
}

type Identified = Pick<Controller, 'name'>;

/** Declared access of a controller by the storage of each kind. */
export interface Access {
  readonly controller: Identified;
  /** Storage prefixes of the watched kinds; `every`: all. */
  readonly reads: ReadonlySet<string> | 'every';
  readonly writes: ReadonlyMap<string, KindWrites>;
  /** Writes to kinds without an entry of their own. */
  readonly writesEvery?: KindWrites;
}

function reject({ name }: Identified, access: string, plural: string): never {
  throw new UndeclaredError(`controller ${name} does not declare that it ${access} ${plural}`);
}

export function scopeCache(cache: Cache, { controller, reads }: Access): WorkloadDeps['cache'] {
  if (reads === 'every') return cache;
  return {
    resource(storage, selectable) {
      if (!reads.has(storage.prefix)) reject(controller, 'watches', storage.prefix);
      return cache.resource(storage, selectable);
    },
    waitForNewest: () => cache.waitForNewest(),
  };
}

export function scopeRegistry(
  registry: Pick<ResourceRegistry, 'find'>,
  { controller, reads, writes }: Access,
): Pick<ResourceRegistry, 'find'> {
  if (reads === 'every') return registry;
  return {
    find(group, version, plural) {
      const found = registry.find(group, version, plural);
      if (found !== undefined && !reads.has(found.storage.prefix) && !writes.has(found.storage.prefix))
        reject(controller, 'uses', plural);
      return found;
    },
  };
}

/** Verbs that reject undeclared kinds, operations and subresources. */
export function scopeVerbs(verbs: Verbs, { controller, reads, writes, writesEvery }: Access): Verbs {
  const declared = ({ storage }: Resource): KindWrites => writes.get(storage.prefix) ?? writesEvery ?? {};
  const isSubresource = (name: string): name is 'status' | 'approval' | 'finalize' =>
    name === 'status' || name === 'approval' || name === 'finalize';

  function checkUpdate(resource: Resource, subresource: string | undefined, creates: boolean): void {
    const allowed = declared(resource);
    const { plural } = resource.info;
    const fields =
      subresource === undefined
        ? allowed.update
        : isSubresource(subresource)
          ? allowed[subresource]
          : undefined;
    if (fields === undefined) reject(controller, 'updates', [plural, subresource].filter(Boolean).join('/'));
    if (creates && allowed.create !== true) reject(controller, 'creates', plural);
  }
  function checkDelete(resource: Resource): void {
    if (declared(resource).delete !== true) reject(controller, 'deletes', resource.info.plural);
  }

  return {
    async get(ref) {
      const { prefix } = ref.resource.storage;
      const mayRead = reads === 'every' || reads.has(prefix) || writes.has(prefix);
      if (!mayRead) reject(controller, 'reads', ref.resource.info.plural);
      return verbs.get(ref);
    },
    async create(ref, object, options, caller) {
      if (declared(ref.resource).create !== true) reject(controller, 'creates', ref.resource.info.plural);
      return verbs.create(ref, object, options, caller);
    },
    async update(ref, change, options, caller) {
      checkUpdate(ref.resource, options.subresource, options.allowCreate);
      return verbs.update(ref, change, options, caller);
    },
    async delete(ref, request, caller) {
      checkDelete(ref.resource);
      return verbs.delete(ref, request, caller);
    },
    async admit(ref, _draft, { subresource }) {
      return reject(controller, 'admits', `${ref.resource.info.plural}/${subresource}`);
    },
    async deleteCollection(resource, selection, request, caller) {
      checkDelete(resource);
      return verbs.deleteCollection(resource, selection, request, caller);
    },
  };
}
