/** The resources that are served right now: built-in ones, and those of custom resource definitions that come and go. */
import type { Resource } from './contract.ts';
import { apiVersionOf } from './facts.ts';

export interface ResourceRegistry {
  find(group: string, version: string, plural: string): Resource | undefined;
  findKind(apiVersion: string, kind: string): Resource | undefined;
  /** In order of registration. */
  all(): readonly Resource[];
  /** Puts a resource in, in place of one of the same group, version and name. */
  put(resource: Resource): void;
  remove(group: string, version: string, plural: string): void;
  /** Called after every change, for discovery and the like. */
  onChange(listener: () => void): void;
  /** Rises with every change. */
  readonly generation: number;
}

const keyOf = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;

export function createResourceRegistry(initial: readonly Resource[] = []): ResourceRegistry {
  const resources = new Map<string, Resource>();
  const listeners: (() => void)[] = [];
  let kinds = new Map<string, Resource>();
  let generation = 0;

  function changed(): void {
    generation += 1;
    kinds = new Map([...resources.values()].map((r) => [`${apiVersionOf(r.info)}/${r.info.kind}`, r]));
    for (const listener of listeners) listener();
  }
  const set = (resource: Resource): void => {
    const { group, version, plural } = resource.info;
    resources.set(keyOf(group, version, plural), resource);
  };
  for (const resource of initial) set(resource);
  changed();

  return {
    find: (group, version, plural) => resources.get(keyOf(group, version, plural)),
    findKind: (apiVersion, kind) => kinds.get(`${apiVersion}/${kind}`),
    all: () => [...resources.values()],
    put(resource) {
      set(resource);
      changed();
    },
    remove(group, version, plural) {
      if (resources.delete(keyOf(group, version, plural))) changed();
    },
    onChange: (listener) => {
      listeners.push(listener);
    },
    get generation() {
      return generation;
    },
  };
}
