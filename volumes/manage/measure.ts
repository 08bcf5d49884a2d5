/** Measures setups and teardowns of volumes for the metrics of the host. Changes no results. */
import type { Volume } from '#api/gen/core-v1.ts';
import type { VolumeHost } from '../contract/volume-manager.ts';
import type { DesiredVolume } from './decide.ts';

type Work = (signal: AbortSignal) => Promise<void>;

export interface Measure {
  /** Returns a setup that is measured and, if successful, remembered. */
  readonly mount: (podUID: string, desired: Pick<DesiredVolume, 'name' | 'volume'>, work: Work) => Work;
  /** Measures the teardown of a pod for each volume that was set up. */
  readonly unmount: (podUID: string, work: () => Promise<void>) => Promise<void>;
}

export function createMeasure({
  clock,
  operationDone,
}: Pick<VolumeHost, 'clock' | 'operationDone'>): Measure {
  if (operationDone === undefined) {
    return { mount: (_podUID, _desired, work) => work, unmount: (_podUID, work) => work() };
  }
  const mounted = new Map<string, Map<string, Volume | undefined>>();
  return {
    mount:
      (podUID, { name, volume }, work) =>
      async (signal) => {
        const beganMs = clock.monotonic();
        let failed = true;
        try {
          await work(signal);
          failed = false;
          const volumes = mounted.get(podUID) ?? new Map<string, Volume | undefined>();
          mounted.set(podUID, volumes.set(name, volume));
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
