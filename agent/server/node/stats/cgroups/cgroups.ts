/** Finds and caches the cgroups of containers by their processes. */
import type { Processes } from '../processes.ts';
import { type CgroupPlace, type Hierarchies, parseHierarchies, placeAt, placeOf } from './places.ts';

export interface Cgroups {
  ofContainer(id: string): Promise<CgroupPlace | undefined>;
  /** Returns the cgroup at this path, relative to the root of the hierarchies. */
  at(path: string): Promise<CgroupPlace | undefined>;
  /** Removes all other containers from the cache. */
  keep(ids: ReadonlySet<string>): void;
}

export interface CgroupsDeps {
  readonly processes: Pick<Processes, 'ofContainer'>;
  readonly readProc: (path: string) => Promise<string>;
}

export function createCgroups({ processes, readProc }: CgroupsDeps): Cgroups {
  const places = new Map<string, CgroupPlace>();
  let hierarchies: Promise<Hierarchies> | undefined;

  function readHierarchies(): Promise<Hierarchies> {
    hierarchies ??= readProc('/proc/self/mountinfo').then(parseHierarchies);
    return hierarchies;
  }

  async function find(id: string): Promise<CgroupPlace | undefined> {
    const known = places.get(id);
    if (known !== undefined) return known;
    const pid = await processes.ofContainer(id);
    if (pid === undefined) return undefined;
    const text = await readProc(`/proc/${pid}/cgroup`);
    // A later process with the same PID is in another cgroup.
    if (!text.includes(id)) return undefined;
    const place = placeOf(await readHierarchies(), text);
    if (place !== undefined) places.set(id, place);
    return place;
  }

  return {
    // A container that has ended has no cgroup.
    ofContainer: (id) => find(id).catch(() => undefined),
    at: async (path) => placeAt(await readHierarchies(), () => path),
    keep(ids) {
      for (const id of places.keys()) if (!ids.has(id)) places.delete(id);
    },
  };
}
