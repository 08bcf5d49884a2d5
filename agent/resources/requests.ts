/** Containers of a pod that may request resources. Pure. */
import type { Container, Pod } from '#api/gen/core-v1.ts';
import type { ContainerRequest } from './contract.ts';

/** Init containers first, in the order in which they start. */
export function requestsOf(pod: Pod): readonly ContainerRequest[] {
  const request = (container: Container, init: boolean): ContainerRequest => ({ pod, container, init });
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  return [
    // Sidecars never release their resources.
    ...initContainers.map((container) => request(container, container.restartPolicy !== 'Always')),
    ...containers.map((container) => request(container, false)),
  ];
}
