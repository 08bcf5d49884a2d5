/** Wires the pod-resources socket. */
import { featureEnabled } from '../../config/feature-gates.ts';
import type { PodResourceSources } from '../../resources/pod-resources/responses.ts';
import { podResourcesSocket, runPodResources } from '../../resources/pod-resources/server.ts';
import type { Base } from '../base.ts';
import type { PodSubsystem } from '../pods/pods.ts';

/** Serves until the signal fires, if the feature gate is enabled. Never rejects. */
export async function runPodResourcesSubsystem(
  base: Base,
  { manager, resources, devices }: Pick<PodSubsystem, 'manager' | 'resources' | 'devices'>,
  stop: AbortSignal,
): Promise<void> {
  const { config, clock, log, vocabulary, metrics: registry } = base;
  if (!featureEnabled(config, 'NodeAgentPodResources')) return;
  const sources: PodResourceSources = {
    pods: () => manager.workers().map(({ pod }) => pod),
    held: (podUID, container) => resources.held(podUID, container),
    most: () => resources.most(),
    heldDevices: (podUID, container) => devices?.manager.held(podUID, container) ?? [],
    allocatableDevices: () => devices?.manager.allocatable() ?? [],
  };
  const path = podResourcesSocket(config.rootDir, vocabulary.agentComponent);
  const allocatable = featureEnabled(config, 'NodeAgentPodResourcesGetAllocatable');
  await runPodResources({ clock, log, sources, registry }, { path, allocatable }, stop);
}
