/** Removal of everything left of a terminated pod: containers, sandboxes, logs, directories. */
import { rm } from 'node:fs/promises';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { VolumeManager } from '#volumes/contract/volume-manager.ts';
import type { PodCgroups } from '../../cgroups/pod-cgroups.ts';
import type { ImageManager } from '../../images/image-manager.ts';
import type { LogLinks } from '../../logs/links.ts';
import { podLogDir } from '../../logs/paths.ts';
import type { Observer } from '../../observe/observer.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import type { PodIdentity } from '../../pod-identity/identity.ts';
import type { PodFiles } from '../pod-files.ts';

interface RemoveContainerDeps {
  readonly runtime: Pick<RuntimeService, 'removeContainer'>;
  readonly view: RuntimeView;
  readonly links: Pick<LogLinks, 'unlink'>;
  readonly volumes: Pick<VolumeManager, 'cleanSubPaths'>;
}

export interface DiscardContainerDeps extends RemoveContainerDeps {
  readonly observer: Pick<Observer, 'refreshContainer'>;
}

export interface RemovePodDeps extends RemoveContainerDeps {
  readonly runtime: Pick<RuntimeService, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly links: Pick<LogLinks, 'unlink' | 'removeDead'>;
  readonly images: Pick<ImageManager, 'forgetPod'>;
  readonly cgroups: Pick<PodCgroups, 'remove'>;
  readonly files: Pick<PodFiles, 'remove'>;
  readonly settings: { readonly podLogsDir: string };
}

/** Removes a container that was created and apparently never started, unless it runs by now: the runtime may
 *  execute a call of a dead agent late. */
export async function discardContainer(
  deps: DiscardContainerDeps,
  pod: PodIdentity,
  container: ObservedContainer,
): Promise<void> {
  await deps.observer.refreshContainer(container.id);
  const now = deps.view.container(container.id);
  if (now === undefined || now.state === 'created') await removeContainer(deps, pod, container);
}

/** Removes one container with its log link and subPath mounts. Idempotent. */
async function removeContainer(
  { runtime, view, links, volumes }: RemoveContainerDeps,
  { namespace, name }: PodIdentity,
  container: ObservedContainer,
): Promise<void> {
  // The container goes last: while it exists, a restarted agent finds the rest by it.
  await links.unlink({ namespace, podName: name, containerName: container.name, containerID: container.id });
  await volumes.cleanSubPaths(container.podUID, container.name);
  await runtime.removeContainer({ containerId: container.id });
  view.forgetContainer(container.id);
}

/** Removes everything of the pod. Requires that its containers have exited and its volumes are unmounted. */
export async function removePod(deps: RemovePodDeps, pod: PodIdentity): Promise<void> {
  const { runtime, view, files, settings, images, cgroups } = deps;
  const { uid } = pod;
  const { sandboxes, containers } = view.pod(uid);
  await Promise.all(containers.map((container) => removeContainer(deps, pod, container)));
  await Promise.all(
    sandboxes.map(async ({ id }) => {
      await runtime.stopPodSandbox({ podSandboxId: id });
      await runtime.removePodSandbox({ podSandboxId: id });
      view.forgetSandbox(id);
    }),
  );
  images.forgetPod(uid);
  await cgroups.remove(uid);
  await rm(podLogDir(settings.podLogsDir, pod), { recursive: true, force: true });
  // Links of instances that were collected earlier pointed there too.
  await deps.links.removeDead(new Set(view.containers().map(({ id }) => id)));
  await files.remove(uid);
}
