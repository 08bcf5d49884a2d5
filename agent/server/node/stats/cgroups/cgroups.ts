/** Cgroups of containers, found by their processes; each is looked for once in its life. */
import type { Processes } from '../processes.ts';
import { type CgroupPlace, type Hierarchies, parseHierarchies, placeAt, placeOf } from './places.ts';

export interface Cgroups {
  ofContainer(id: string): Promise<CgroupPlace | undefined>;
  /** Of this path from the root of the hierarchies. */
  at(path: string): Promise<CgroupPlace | undefined>;
  /** Forgets the containers other than these. */
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
    // A process of that number that came later is in another cgroup than this container's.
    if (!text.includes(id)) return undefined;
    const place = placeOf(await readHierarchies(), text);
    if (place !== undefined) places.set(id, place);
    return place;
  }

  return {
    // What ended meanwhile has none.
    ofContainer: (id) => find(id).catch(() => undefined),
    at: async (path) => placeAt(await readHierarchies(), () => path),
    keep(ids) {
      for (const id of places.keys()) if (!ids.has(id)) places.delete(id);
    },
  };
}
