/** Limits a controller to the kinds that it declares. A violation is a defect of the controller. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { Cache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { UpdateWrite, Verbs } from '../../verbs/contract.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import { type Controller, type KindWrites, SUBRESOURCES, type WrittenSubresource } from './declaration.ts';

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

/** An update by a controller, before it is stored. */
export interface ObservedUpdate {
  readonly controller: string;
  readonly resource: Resource;
  readonly subresource: string | undefined;
  /** Declared field paths. */
  readonly fields: readonly string[];
  readonly before: ApiObject;
  readonly after: ApiObject;
}

/** Tests compare the changed fields of every update with the declared ones. */
export type UpdateObserver = (update: ObservedUpdate) => void;

/** The same update, with its change observed. */
function observed(
  write: UpdateWrite,
  observe: UpdateObserver,
  update: Omit<ObservedUpdate, 'before' | 'after'>,
): UpdateWrite {
  if (write.allowCreate === true) {
    const { change } = write;
    return {
      ...write,
      async change(live: ApiObject | undefined, isLarge?: boolean) {
        const before = live && copyJson(live);
        const after = await change(live, isLarge);
        if (before !== undefined) observe({ ...update, before, after });
        return after;
      },
    };
  }
  const { change, view } = write;
  if (typeof change !== 'function') return write;
  // The declared fields of a scale are those of the Scale.
  const seen = (object: ApiObject): ApiObject => view?.see(object) ?? object;
  return {
    ...write,
    async change(live, isLarge) {
      const before = copyJson(live);
      const after = await change(live, isLarge);
      observe({ ...update, before: seen(before), after: seen(after) });
      return after;
    },
  };
}

/** Verbs without undeclared kinds, operations and subresources: such a call throws at once, before it returns a
 *  promise. */
export function scopeVerbs(
  verbs: Verbs,
  { controller, reads, writes, writesEvery }: Access,
  observe?: UpdateObserver,
): Verbs {
  const declared = ({ storage }: Resource): KindWrites => writes.get(storage.prefix) ?? writesEvery ?? {};
  const isSubresource = (name: string): name is WrittenSubresource =>
    SUBRESOURCES.some((known) => known === name);

  /** Returns the declared fields. */
  function checkUpdate(
    resource: Resource,
    subresource: string | undefined,
    creates: boolean,
  ): readonly string[] {
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
    return fields;
  }
  function checkDelete(resource: Resource): void {
    if (declared(resource).delete !== true) reject(controller, 'deletes', resource.info.plural);
  }

  return {
    get(ref) {
      const { prefix } = ref.resource.storage;
      const mayRead = reads === 'every' || reads.has(prefix) || writes.has(prefix);
      if (!mayRead) reject(controller, 'reads', ref.resource.info.plural);
      return verbs.get(ref);
    },
    create(write) {
      const { resource } = write.ref;
      if (declared(resource).create !== true) reject(controller, 'creates', resource.info.plural);
      return verbs.create(write);
    },
    update(write) {
      const { resource } = write.ref;
      const { subresource } = write;
      const fields = checkUpdate(resource, subresource, write.allowCreate === true);
      if (observe === undefined) return verbs.update(write);
      return verbs.update(
        observed(write, observe, { controller: controller.name, resource, subresource, fields }),
      );
    },
    delete(write) {
      checkDelete(write.ref.resource);
      return verbs.delete(write);
    },
    admit({ ref, subresource }) {
      return reject(controller, 'admits', `${ref.resource.info.plural}/${subresource}`);
    },
    deleteCollection(request) {
      checkDelete(request.resource);
      return verbs.deleteCollection(request);
    },
  };
}
