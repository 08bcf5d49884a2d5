/** Small questions about a pod's containers that the decisions and the status both ask. Pure. */
import type { Container, Pod } from '#api/schema/gen/core-v1.ts';
import type { ObservedContainer } from '../observe/types.ts';

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

/** Whether an app container that ended is started again.
 *  @see upstream restart policies: Always, OnFailure (only after a failure), Never */
export function restartsAfterEnd(pod: Pod, container: ObservedContainer): boolean {
  const policy = pod.spec?.restartPolicy ?? 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && !succeeded(container));
}
