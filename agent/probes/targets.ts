/** Selects the containers of a pod to probe, from desired and observed state. Pure. */
import type { Container, Pod } from '#api/gen/core-v1.ts';
import type { ObservedContainer, PodObservation } from '../observe/types.ts';
import { isProbed, type ProbeTarget } from './container-probes.ts';

export interface PodTargets {
  readonly pod: Pod;
  /** Empty while unknown. */
  readonly podIP: string;
  readonly containers: readonly ProbeTarget[];
}

/** Returns the newest running instance of every app container and sidecar with a probe.
 *  @param hostIP address of the node, which is also that of a pod with host networking
 *  @param previousOf returns the result of an earlier run for a container */
export function probeTargets(
  pod: Pod,
  observed: PodObservation,
  hostIP: string,
  previousOf: (containerId: string) => ProbeTarget['previous'] = () => undefined,
): PodTargets {
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const probed = [...sidecars, ...(pod.spec?.containers ?? [])].filter(isProbed);
  const containers = probed.flatMap((container) =>
    targetOf(
      container,
      observed.containers.find(({ name }) => name === container.name),
      previousOf,
    ),
  );
  const podIP = pod.spec?.hostNetwork === true ? hostIP : (observed.sandboxes[0]?.ips[0] ?? '');
  return { pod, podIP, containers };
}

function targetOf(
  container: Container,
  newest: ObservedContainer | undefined,
  previousOf: (containerId: string) => ProbeTarget['previous'],
): readonly ProbeTarget[] {
  if (newest?.state !== 'running') return [];
  const previous = previousOf(newest.id);
  const target = { containerId: newest.id, container, startedAtMs: newest.startedAtMs };
  return [previous === undefined ? target : { ...target, previous }];
}
