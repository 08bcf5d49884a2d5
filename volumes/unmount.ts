/** Taking a pod's volumes down: what is still being mounted is aborted first, and whoever asks again while it goes on
 *  waits for the same. */
import { asError, type Clock } from '#api/kit/clock.ts';
import { type Attempts, formatDelay, PATIENCE_MS, within } from './attempts.ts';
import { podDir } from './layout.ts';
import type { PodTasks } from './pod-tasks.ts';
import { VolumeSetupError } from './setup-error.ts';
import { VolumeError } from './types.ts';

export interface UnmountDeps {
  readonly clock: Clock;
  readonly rootDir: string;
  readonly attempts: Pick<Attempts, 'stop'>;
  readonly tasks: PodTasks;
  /** Undoes everything. */
  readonly undo: (podUID: string) => Promise<void>;
  /** Nothing is left. */
  readonly done: (podUID: string) => void;
}

export function tearDownError(podUID: string, thrown: unknown): VolumeError {
  const cause = asError(thrown);
  return new VolumeError(`volumes of pod ${podUID} could not be taken down: ${cause.message}`, {
    reason: 'FailedUnMount',
    volumes: [],
    cause,
  });
}

/** @returns what unmounts a pod; where that takes too long, it goes on. It throws VolumeError */
export function createUnmount({
  clock,
  rootDir,
  attempts,
  tasks,
  undo,
  done,
}: UnmountDeps): (podUID: string) => Promise<void> {
  const underWay = new Map<string, Promise<void>>();

  async function tearDown(podUID: string): Promise<void> {
    try {
      await tasks.settle(podUID);
      attempts.stop(podUID);
      await tasks.run(podUID, 'teardown', () => undo(podUID));
      done(podUID);
    } finally {
      underWay.delete(podUID);
    }
  }

  return async (podUID) => {
    try {
      podDir(rootDir, podUID);
      const mounting = attempts.stop(podUID);
      const work = underWay.get(podUID) ?? tearDown(podUID);
      underWay.set(podUID, work);
      const late = (): Error => {
        const why = mounting.length === 0 ? '' : `; still being mounted: ${mounting.join(', ')}`;
        return new VolumeSetupError(`not done after ${formatDelay(PATIENCE_MS)}${why}`);
      };
      await within(clock, { limitMs: PATIENCE_MS, late }, work);
    } catch (thrown) {
      throw tearDownError(podUID, thrown);
    }
  };
}
