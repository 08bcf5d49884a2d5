/** Probe results of a pod that are worth persisting across agent restarts. Pure. */
import type { Container, Pod, PodStatus } from '#api/gen/core-v1.ts';
import { isProbed } from '../../probes/container-probes.ts';
import type { ProbeFindings } from '../../probes/memory.ts';
import { appContainers, initContainers } from '../decide/containers.ts';

/** Returns the results of its running probed containers, by container ID. */
export function probeFindings(pod: Pod, status: PodStatus): ProbeFindings {
  const specs: readonly Container[] = [...initContainers(pod), ...appContainers(pod)];
  const probed = new Set(specs.filter(isProbed).map(({ name }) => name));
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return Object.fromEntries(
    statuses
      .filter(({ name, state }) => probed.has(name) && state?.running !== undefined)
      .map(({ containerID = '', started = false, ready }) => [
        containerID.slice(containerID.indexOf('://') + '://'.length),
        { started, ready },
      ]),
  );
}
