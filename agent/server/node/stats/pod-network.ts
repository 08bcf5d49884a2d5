/** Network counters of pods, from their network namespaces. */
import type { InterfaceStats, NetworkStats } from '#api/schema/gen/stats-v1alpha1.ts';
import { type InterfaceCounts, parseNetDev } from './proc.ts';
import type { Processes } from './processes.ts';

export interface PodNetworkDeps {
  readonly processes: Pick<Processes, 'ofSandbox'>;
  readonly readProc: (path: string) => Promise<string>;
  /** Where a link of the kernel's leads. */
  readonly readLink: (path: string) => Promise<string>;
}

export interface PodNetworks {
  /** Counters of a pod's interfaces; undefined for one in the node's own namespace, and where they can't be had. */
  of(sandboxId: string): Promise<readonly InterfaceCounts[] | undefined>;
  /** Forgets all others. */
  keep(sandboxIds: ReadonlySet<string>): void;
}

export function createPodNetworks({ processes, readProc, readLink }: PodNetworkDeps): PodNetworks {
  const namespaces = new Map<string, string>();

  async function read(sandboxId: string): Promise<readonly InterfaceCounts[] | undefined> {
    const pid = await processes.ofSandbox(sandboxId);
    if (pid === undefined) return undefined;
    const [own, its] = await Promise.all([readLink('/proc/self/ns/net'), readLink(`/proc/${pid}/ns/net`)]);
    const before = namespaces.get(sandboxId) ?? its;
    namespaces.set(sandboxId, before);
    // A process of the same number that came after it is of another pod.
    if (its === own || its !== before) return undefined;
    return parseNetDev(await readProc(`/proc/${pid}/net/dev`));
  }

  return {
    // What ended meanwhile has none.
    of: (sandboxId) => read(sandboxId).catch(() => undefined),
    keep(sandboxIds) {
      for (const id of namespaces.keys()) if (!sandboxIds.has(id)) namespaces.delete(id);
    },
  };
}

const shown = ({ name, rxBytes, rxErrors, txBytes, txErrors }: InterfaceCounts): InterfaceStats => ({
  name,
  rxBytes,
  rxErrors,
  txBytes,
  txErrors,
});

/** The interface that pods and most machines go out by. */
const USUAL = 'eth0';

/** As a summary has it: the main interface, and all. */
export function networkStats(counts: readonly InterfaceCounts[], time: string): NetworkStats | undefined {
  const main = counts.find(({ name }) => name === USUAL) ?? counts[0];
  return main === undefined ? undefined : { time, ...shown(main), interfaces: counts.map(shown) };
}
