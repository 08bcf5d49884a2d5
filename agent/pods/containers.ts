/** Small questions about a pod's containers that the decisions and the status both ask. Pure. */
import type { Container, Pod } from '#api/schema/gen/core-v1.ts';
import { formatNormalized, ImageReferenceError, parseImageReference } from '../images/reference.ts';
import type { ObservedContainer } from '../observe/types.ts';
import { containerHash } from '../runtime/config/hash.ts';
import type { ContainerSpec } from './plan.ts';

/** An init container that keeps running beside the app containers. */
export const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

export const initContainers = (pod: Pod): readonly Container[] => pod.spec?.initContainers ?? [];
export const appContainers = (pod: Pod): readonly Container[] => pod.spec?.containers ?? [];

/** The newest instance of a container by name; `containers` is newest first. */
export function latest(
  containers: readonly ObservedContainer[],
  name: string,
): ObservedContainer | undefined {
  return containers.find((container) => container.name === name);
}

/** It runs, or may do so. */
export const isAlive = ({ state }: ObservedContainer): boolean => state === 'running' || state === 'unknown';

export const succeeded = (container: ObservedContainer): boolean =>
  container.state === 'exited' && container.exitCode === 0;

/** Whether it has ended, and how it ended is known completely. */
export const hasSettled = (container: ObservedContainer | undefined): container is ObservedContainer =>
  container?.state === 'exited' && container.isProvisional !== true;

/** Why a container does not run yet, unless something is wrong with it.
 *  @see upstream 1.24: of a pod with init containers, all wait with the same reason */
export const unstartedReason = (pod: Pod): 'PodInitializing' | 'ContainerCreating' =>
  initContainers(pod).length > 0 ? 'PodInitializing' : 'ContainerCreating';

/** Whether an app container that ended is started again.
 *  @see upstream restart policies: Always, OnFailure (only after a failure), Never */
export function restartsAfterEnd(pod: Pod, container: ObservedContainer): boolean {
  const policy = pod.spec?.restartPolicy ?? 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && !succeeded(container));
}

/** Whether an app container was made from another image than the pod has now: the one thing of it that may change
 *  while the pod stays the same. Its hash alone does not say so, as an agent with other defaults has other hashes.
 *  @see upstream 1.24: fields of a pod that may be changed */
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
