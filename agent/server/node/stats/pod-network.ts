/** Network statistics of pods, read in their network namespaces. */
import type { InterfaceStats, NetworkStats } from '#api/gen/stats-v1alpha1.ts';
import { type InterfaceCounts, parseNetDev } from './proc.ts';
import type { Processes } from './processes.ts';

export interface PodNetworkDeps {
  readonly processes: Pick<Processes, 'ofSandbox'>;
  readonly readProc: (path: string) => Promise<string>;
  /** Reads the target of a symbolic link in /proc. */
  readonly readLink: (path: string) => Promise<string>;
}

export interface PodNetworks {
  /** Returns the interface counters of a pod; undefined in the host network, and if they are not available. */
  of(sandboxId: string): Promise<readonly InterfaceCounts[] | undefined>;
  /** Removes all other pods from the cache. */
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
    // A later process with the same PID belongs to another pod.
    if (its === own || its !== before) return undefined;
    return parseNetDev(await readProc(`/proc/${pid}/net/dev`));
  }

  return {
    // A pod that has ended has no network namespace.
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

/** Interface of the default route of pods and of most machines. */
const USUAL = 'eth0';

/** Formats network statistics for the summary: the default interface, and all interfaces. */
export function networkStats(counts: readonly InterfaceCounts[], time: string): NetworkStats | undefined {
  const main = counts.find(({ name }) => name === USUAL) ?? counts[0];
  return main === undefined ? undefined : { time, ...shown(main), interfaces: counts.map(shown) };
}
