/** Unmounting of a pod's volumes: mounts in flight are aborted first, and concurrent callers join the same
 *  operation. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { VolumeError } from '../errors/volume-error.ts';
import { podDir } from '../files/layout.ts';
import type { PodTasks } from '../staging/pod-tasks.ts';
import { type Attempts, formatDelay, TIMEOUT_MS, within } from './attempts.ts';

export interface UnmountDeps {
  readonly clock: Clock;
  readonly rootDir: string;
  readonly attempts: Pick<Attempts, 'stop'>;
  readonly tasks: PodTasks;
  /** Undoes everything. */
  readonly undo: (podUID: string) => Promise<void>;
  /** Everything has been undone. */
  readonly done: (podUID: string) => void;
}

export function tearDownError(podUID: string, thrown: unknown): VolumeError {
  const cause = asError(thrown);
  return new VolumeError(`failed to unmount volumes of pod ${podUID}: ${cause.message}`, {
    reason: 'FailedUnMount',
    volumes: [],
    cause,
  });
}

/** @returns a function that unmounts a pod; after its timeout the work continues. It throws VolumeError */
export function createUnmount({
  clock,
  rootDir,
  attempts,
  tasks,
  undo,
  done,
}: UnmountDeps): (podUID: string) => Promise<void> {
  const inFlight = new Map<string, Promise<void>>();

  async function tearDown(podUID: string): Promise<void> {
    try {
      await tasks.settle(podUID);
      attempts.stop(podUID);
      await tasks.run(podUID, 'teardown', () => undo(podUID));
      done(podUID);
    } finally {
      inFlight.delete(podUID);
    }
  }

  return async (podUID) => {
    try {
      podDir(rootDir, podUID);
      const mounting = attempts.stop(podUID);
      const work = inFlight.get(podUID) ?? tearDown(podUID);
      inFlight.set(podUID, work);
      const late = (): Error => {
        const why = mounting.length === 0 ? '' : `; still being mounted: ${mounting.join(', ')}`;
        return new VolumeSetupError(`not finished after ${formatDelay(TIMEOUT_MS)}${why}`);
      };
      await within(clock, { limitMs: TIMEOUT_MS, late }, work);
    } catch (thrown) {
      throw tearDownError(podUID, thrown);
    }
  };
}
