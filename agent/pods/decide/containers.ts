/** Predicates and selectors for the containers of a pod, shared by decisions and status. Pure. */
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { formatNormalized, ImageReferenceError, parseImageReference } from '../../images/reference.ts';
import type { ObservedContainer, PodObservation } from '../../observe/types.ts';
import { containerHash } from '../../runtime/config/hash.ts';
import { type ContainerSpec, isContainerWorkInFlight, type PodProgress } from './decision-types.ts';

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
