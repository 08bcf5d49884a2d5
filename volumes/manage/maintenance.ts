/** Periodic maintenance of volumes while pods use them. */
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { PodTasks } from '../staging/pod-tasks.ts';
import type { Attempts } from './attempts.ts';
import type { ActualVolume } from './decide.ts';

export interface MaintenanceDeps {
  readonly attempts: Pick<Attempts, 'run'>;
  readonly tasks: Pick<PodTasks, 'run'>;
  readonly log: Logger;
}

/** For maintenance that ends with its pod. */
const NEVER: AbortSignal = new AbortController().signal;

/** @returns a function that starts maintenance of a pod's volumes unless it is in flight; it may take
 *    long, and ends when the pod's volumes are torn down */
export function createMaintenance({
  attempts,
  tasks,
  log,
}: MaintenanceDeps): (podUID: string, volumes: ReadonlyMap<string, ActualVolume>) => void {
  return (podUID, volumes) => {
    for (const [name, { maintain }] of volumes) {
      if (maintain === undefined) continue;
      const key = `maintenance/${name}`;
      const work = (signal: AbortSignal): Promise<void> => tasks.run(podUID, key, () => maintain(signal));
      attempts.run(podUID, key, work, NEVER).catch((thrown: unknown) => {
        log.debug({ err: asError(thrown), podUID, volume: name }, 'Failed to maintain volume');
      });
    }
  };
}
