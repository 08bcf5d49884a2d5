/** Looking after volumes while pods have them. */
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Attempts } from './attempts.ts';
import type { ActualVolume } from './decide.ts';
import type { PodTasks } from './pod-tasks.ts';

export interface LookAfterDeps {
  readonly attempts: Pick<Attempts, 'run'>;
  readonly tasks: Pick<PodTasks, 'run'>;
  readonly log: Logger;
}

/** For what ends with its pod. */
const NEVER: AbortSignal = new AbortController().signal;

/** @returns what begins to look after the volumes of a pod, as far as that is not under way; it may take long, and
 *  ends when the pod's volumes are taken down */
export function createLookAfter({
  attempts,
  tasks,
  log,
}: LookAfterDeps): (podUID: string, volumes: ReadonlyMap<string, ActualVolume>) => void {
  return (podUID, volumes) => {
    for (const [name, { look }] of volumes) {
      if (look === undefined) continue;
      const key = `looks/${name}`;
      const work = (signal: AbortSignal): Promise<void> => tasks.run(podUID, key, () => look(signal));
      attempts.run(podUID, key, work, NEVER).catch((thrown: unknown) => {
        log.debug({ err: asError(thrown), podUID, volume: name }, 'Volume was not looked after');
      });
    }
  };
}
