/** The containers of a pod that may ask for resources. Pure. */
import type { Container, Pod } from '#api/schema/gen/core-v1.ts';
import type { ContainerRequest } from './contract.ts';

/** Init containers first, in the order in which they start. */
export function requestsOf(pod: Pod): readonly ContainerRequest[] {
  const request = (container: Container, init: boolean): ContainerRequest => ({ pod, container, init });
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  return [
    // One that goes on beside the others never gives back what it has.
    ...initContainers.map((container) => request(container, container.restartPolicy !== 'Always')),
    ...containers.map((container) => request(container, false)),
  ];
}
