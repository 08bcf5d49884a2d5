/** Registry of the served resources: built-in ones, and those of CustomResourceDefinitions, which may change
 *  at any time. */
import { createListeners } from '#api/kit/listeners.ts';
import type { Resource } from './contract.ts';
import { apiVersionOf } from './facts.ts';

/** Identity of a resource. */
export interface ResourceKey {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

export interface ResourceRegistry {
  find(group: string, version: string, plural: string): Resource | undefined;
  findKind(apiVersion: string, kind: string): Resource | undefined;
  /** In order of registration. */
  all(): readonly Resource[];
  /** Puts a resource in, in place of one of the same group, version and name. */
  put(resource: Resource): void;
  remove(group: string, version: string, plural: string): void;
  /** Removes and adds resources as one change. */
  replace(gone: Iterable<ResourceKey>, come: Iterable<Resource>): void;
  /** Has the listener called after every change, for discovery and the like, until the returned function is. The new
   *  state is there before any listener is called. */
  onChange(listener: () => void): () => void;
  /** Rises with every change. */
  readonly generation: number;
}

const keyOf = ({ group, version, plural }: ResourceKey): string => `${group}/${version}/${plural}`;

export function createResourceRegistry(initial: readonly Resource[] = []): ResourceRegistry {
  const resources = new Map<string, Resource>();
  const listeners = createListeners('resource registry');
  let all: readonly Resource[] | undefined;
  let kinds = new Map<string, Resource>();
  let generation = 0;

  function changed(): void {
    generation += 1;
    all = undefined;
    kinds = new Map([...resources.values()].map((r) => [`${apiVersionOf(r.info)}/${r.info.kind}`, r]));
    listeners.notify();
  }
  const set = (resource: Resource): void => void resources.set(keyOf(resource.info), resource);
  for (const resource of initial) set(resource);
  changed();

  function replace(gone: Iterable<ResourceKey>, come: Iterable<Resource>): void {
    let any = false;
    for (const key of gone) any = resources.delete(keyOf(key)) || any;
    for (const resource of come) {
      set(resource);
      any = true;
    }
    if (any) changed();
  }

  return {
    find: (group, version, plural) => resources.get(`${group}/${version}/${plural}`),
    findKind: (apiVersion, kind) => kinds.get(`${apiVersion}/${kind}`),
    all() {
      all ??= [...resources.values()];
      return all;
    },
    put: (resource) => replace([], [resource]),
    remove: (group, version, plural) => replace([{ group, version, plural }], []),
    replace,
    onChange(listener) {
      // An own function per call, so that one listener may listen twice.
      const own = (): void => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
    get generation() {
      return generation;
    },
  };
}

/** Resource that the segments of a path name. */
export interface NamedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty for the resource itself. */
  readonly subresource: string;
}

/** Reports whether the named resource exists. */
export function isKnown(
  registry: Pick<ResourceRegistry, 'find'>,
  { group, version, resource, subresource }: NamedResource,
): boolean {
  const found = registry.find(group, version, resource);
  return found !== undefined && (subresource === '' || found.info.subresources.has(subresource));
}
