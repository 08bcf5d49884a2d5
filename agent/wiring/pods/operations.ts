/** Wires the operations on pods with the runtime, images and hooks. */
import type { Pod } from '#api/gen/core-v1.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { PodCgroups } from '../../cgroups/pod-cgroups.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import { runHandler } from '../../hooks/lifecycle.ts';
import { createImages } from '../../images/create-images.ts';
import type { NodeSettings } from '../../node/node-settings.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { OperationDeps } from '../../pods/factory.ts';
import type { PodEvent } from '../../pods/pod-event.ts';
import type { ExecSync } from '../../probes/exec.ts';
import type { ResourceManagers } from '../../resources/contract.ts';
import { AGENT_VERSION } from '../../version.ts';
import type { Base } from '../base.ts';
import type { RuntimeSubsystem } from '../runtime.ts';

/** A standalone agent has no RuntimeClass objects: the name of the class is the name of the handler. */
export const handlerOf = ({ spec }: Pod): Promise<string> => Promise.resolve(spec?.runtimeClassName ?? '');

interface PodParts {
  readonly event: PodEvent;
  readonly objectsOf: OperationDeps['objectsOf'];
  readonly serviceEnv: OperationDeps['serviceEnv'];
  readonly runtimeHandler: OperationDeps['runtimeHandler'];
  readonly volumes: VolumeManager;
  readonly resources: ResourceManagers;
  readonly execSync: ExecSync;
  readonly cgroups: PodCgroups;
}

export async function operationDeps(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  { execSync, ...parts }: PodParts,
): Promise<OperationDeps> {
  const { config, clock, log, settings } = base;
  const { connection, imageConnection, view, observer, files, links, lost } = runtimeSubsystem;
  const { runtime } = connection;
  const podIP = addressOf(view, settings);
  const { userAgent } = probeIdentity(base);
  return {
    ...parts,
    waits: base.waits,
    lost,
    runtime,
    images: await createImages(
      { images: imageConnection.images, clock, log, waits: base.waits, env: process.env },
      { ...config, credentialProviders: featureEnabled(config, 'NodeAgentCredentialProviders') },
    ),
    view,
    observer,
    files,
    links,
    runHandler: (handler, target, signal) =>
      runHandler({ execSync, podIP, userAgent }, handler, target, signal),
    starts: createLimiter(config.maxParallelStarts > 0 ? config.maxParallelStarts : defaultStarts(settings)),
    settings,
    clock,
    log,
  };
}

/** Four per core: measured to start most pods per second. */
const defaultStarts = (settings: NodeSettings): number => 4 * settings.cores;

/** Identity of the agent in HTTP probes and hooks. */
export const probeIdentity = ({ vocabulary }: Base): { userAgent: string } => ({
  userAgent: `${vocabulary.probeUserAgent}/${AGENT_VERSION}`,
});

const addressOf =
  (view: RuntimeView, settings: NodeSettings) =>
  (pod: { spec?: { hostNetwork?: boolean }; metadata?: { uid?: string } }): string => {
    if (pod.spec?.hostNetwork === true) return settings.hostIPs()[0] ?? '';
    return view.pod(pod.metadata?.uid ?? '').sandboxes[0]?.ips[0] ?? '';
  };
