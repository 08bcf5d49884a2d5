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

/** Its start was called off before there was a process: the agent that had asked for it died. For the runtime it has
 *  ended, but nothing of it ever ran, so it is no end that counts. */
export const neverRan = ({ state, exitCode, reason, message }: ObservedContainer): boolean =>
  state === 'exited' &&
  exitCode === START_FAILED &&
  reason === 'StartError' &&
  message.includes('failed to create') &&
  message.includes('context canceled');

/** The exit code that containerd gives to what it could not start. */
const START_FAILED = 128;

/** Whether an app container that ended is started again.
 *  @see upstream restart policies: Always, OnFailure (only after a failure), Never */
export function restartsAfterEnd(pod: Pod, container: ObservedContainer): boolean {
  const policy = pod.spec?.restartPolicy ?? 'Always';
  if (neverRan(container)) return true;
  return policy === 'Always' || (policy === 'OnFailure' && !succeeded(container));
}
