/** Measures setups and teardowns of volumes for the metrics of the host. Changes no results. */
import type { Volume } from '#api/gen/core-v1.ts';
import type { VolumeHost } from '../contract/volume-manager.ts';

export interface Measure {
  /** Measures a setup, and remembers a successful one. */
  readonly mount: (
    podUID: string,
    name: string,
    volume: Volume | undefined,
    work: () => Promise<void>,
  ) => Promise<void>;
  /** Measures the teardown of a pod for each volume that was set up. */
  readonly unmount: (podUID: string, work: () => Promise<void>) => Promise<void>;
}

export function createMeasure({
  clock,
  operationDone,
}: Pick<VolumeHost, 'clock' | 'operationDone'>): Measure {
  if (operationDone === undefined) {
    return { mount: (_podUID, _name, _volume, work) => work(), unmount: (_podUID, work) => work() };
  }
  const mounted = new Map<string, Map<string, Volume | undefined>>();
  return {
    async mount(podUID, name, volume, work) {
      const beganMs = clock.monotonic();
      let failed = true;
      try {
        await work();
        failed = false;
        mounted.set(podUID, (mounted.get(podUID) ?? new Map()).set(name, volume));
      } finally {
        operationDone(volume, 'mount', clock.monotonic() - beganMs, failed);
      }
    },
    async unmount(podUID, work) {
      const beganMs = clock.monotonic();
      let failed = true;
      try {
        await work();
        failed = false;
      } finally {
        const volumes = [...(mounted.get(podUID)?.values() ?? [])];
        if (!failed) mounted.delete(podUID);
        for (const volume of volumes) operationDone(volume, 'unmount', clock.monotonic() - beganMs, failed);
      }
    },
  };
}
