/** Predicates and selectors for the containers of a pod, and their restart backoff, shared by decisions and
 *  status. Pure.
 *
 *  An exited container is restarted without delay the first time, then after 10 s doubling to 5 min. An exit more
 *  than 10 min after the last restart counts as the first again. Times are of the wall clock, which may be set
 *  back. */
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { formatNormalized, ImageReferenceError, parseImageReference } from '../../images/reference.ts';
import type { ObservedContainer, PodObservation } from '../../observe/types.ts';
import { containerHash } from '../../runtime/config/hash.ts';
import {
  type ContainerSpec,
  type CrashBackoff,
  isContainerWorkInFlight,
  type PodProgress,
} from './decision-types.ts';

const FIRST_RESTART_DELAY_MS = 10_000;
const LONGEST_RESTART_DELAY_MS = 300_000;
const FORGET_RESTART_AFTER_MS = 600_000;

/** Upper bound of all backoffs of pods, images and containers, in ms. */
const LONGEST_WAIT_MS = 300_000;

/** Reports whether an init container is a sidecar, which keeps running beside the app containers. */
export const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

export const initContainers = (pod: Pod): readonly Container[] => pod.spec?.initContainers ?? [];
export const appContainers = (pod: Pod): readonly Container[] => pod.spec?.containers ?? [];

/** Returns the newest instance of a container by name; `containers` is newest first. */
export function latest(
  containers: readonly ObservedContainer[],
  name: string,
): ObservedContainer | undefined {
  return containers.find((container) => container.name === name);
}

/** Reports whether the container runs or may be running. */
export const isAlive = ({ state }: ObservedContainer): boolean => state === 'running' || state === 'unknown';

export const succeeded = (container: ObservedContainer): boolean =>
  container.state === 'exited' && container.exitCode === 0;

/** Reports whether the container has exited and its exit state is completely known. */
export const hasSettled = (container: ObservedContainer | undefined): container is ObservedContainer =>
  container?.state === 'exited' && container.isProvisional !== true;

/** Reports whether no container of a terminating pod runs or can still start, and every exit state is known.
 *  @see upstream 1.24: only then is the terminal phase reported */
export const hasComeToRest = (progress: Pick<PodProgress, 'busy'>, { containers }: PodObservation): boolean =>
  !isContainerWorkInFlight(progress) &&
  !containers.some((container) => isAlive(container) || container.isProvisional === true);

/** Returns the waiting reason of a container that has not been started yet.
 *  @see upstream 1.24: in a pod with init containers, all of them wait with the same reason */
export const unstartedReason = (pod: Pod): 'PodInitializing' | 'ContainerCreating' =>
  initContainers(pod).length > 0 ? 'PodInitializing' : 'ContainerCreating';

/** Reports whether an exited app container is restarted.
 *  @see upstream restart policies: Always, OnFailure (only after a failure), Never */
export function restartsAfterEnd(pod: Pod, container: ObservedContainer): boolean {
  const policy = pod.spec?.restartPolicy ?? 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && !succeeded(container));
}

/** Reports whether an app container was created from another image than the pod specifies now: the image is
 *  the only field that may change while the pod stays the same. A differing hash is not sufficient, as an
 *  agent with other defaults computes other hashes.
 *  @see upstream 1.24: mutable fields of a pod */
export function isOutdated(spec: ContainerSpec, container: ObservedContainer): boolean {
  const { hash, image } = container;
  if (container.kind !== 'app' || hash === '' || image === runtimeSpelling(spec.image ?? '')) return false;
  return hash !== containerHash(spec);
}

function runtimeSpelling(image: string): string {
  try {
    return formatNormalized(parseImageReference(image));
  } catch (thrown) {
    if (thrown instanceof ImageReferenceError) return image;
    throw thrown;
  }
}

function live(backoff: CrashBackoff | undefined, finishedAtMs: number): CrashBackoff | undefined {
  if (backoff === undefined) return undefined;
  return finishedAtMs - backoff.restartedAtMs > FORGET_RESTART_AFTER_MS ? undefined : backoff;
}

/** Returns the delay in force for a container that exited at `finishedAtMs`, in ms. */
export function crashDelayMs(backoff: CrashBackoff | undefined, finishedAtMs: number): number {
  return live(backoff, finishedAtMs)?.delayMs ?? 0;
}

/** Formats whole seconds as upstream does: `10s`, `2m40s`. */
export function formatDelay(delayMs: number): string {
  const seconds = Math.round(delayMs / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

/** Returns the backoff after restarting, at `nowMs`, a container that exited at `finishedAtMs`. */
export function afterRestart(
  backoff: CrashBackoff | undefined,
  finishedAtMs: number,
  nowMs: number,
): CrashBackoff {
  const previous = live(backoff, finishedAtMs);
  const delayMs =
    previous === undefined
      ? FIRST_RESTART_DELAY_MS
      : Math.min(previous.delayMs * 2, LONGEST_RESTART_DELAY_MS);
  return { delayMs, restartedAtMs: nowMs };
}

/** Reports whether an operation that is allowed from `readyAtMs` on must still wait at `nowMs`. A time
 *  further ahead than any backoff was recorded before the clock was set back and is ignored. */
export function isBackingOff(readyAtMs: number, nowMs: number): boolean {
  return readyAtMs > nowMs && readyAtMs - nowMs <= LONGEST_WAIT_MS;
}
