/** Removal of everything left of a terminated pod: containers, sandboxes, logs, directories. */
import { rm } from 'node:fs/promises';
import type { Pod } from '#api/gen/core-v1.ts';
import { podLogDir } from '../../logs/paths.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import { podIdentity } from '../../pod-identity/identity.ts';
import type { OperationDeps } from './deps.ts';

/** Removes a container that was created and apparently never started, unless it runs by now: the runtime may
 *  execute a call of a dead agent late. */
export async function discardContainer(
  deps: OperationDeps,
  pod: Pod,
  container: ObservedContainer,
): Promise<void> {
  await deps.observer.refreshContainer(container.id);
  const now = deps.view.container(container.id);
  if (now === undefined || now.state === 'created') await removeContainer(deps, pod, container);
}

/** Removes one container with its log link and subPath mounts. Idempotent. */
export async function removeContainer(
  { runtime, view, links, volumes }: OperationDeps,
  pod: Pod,
  container: ObservedContainer,
): Promise<void> {
  const { namespace, name } = podIdentity(pod);
  // The container goes last: while it exists, a restarted agent finds the rest by it.
  await links.unlink({ namespace, podName: name, containerName: container.name, containerID: container.id });
  await volumes.cleanSubPaths(container.podUID, container.name);
  await runtime.removeContainer({ containerId: container.id });
  view.forgetContainer(container.id);
}

/** Removes everything of the pod. Requires that its containers have exited and its volumes are unmounted. */
export async function removePod(deps: OperationDeps, pod: Pod): Promise<void> {
  const { runtime, view, files, settings, images, cgroups } = deps;
  const { uid, namespace, name } = podIdentity(pod);
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
  await rm(podLogDir(settings.podLogsDir, { namespace, name, podUID: uid }), {
    recursive: true,
    force: true,
  });
  // Links of instances that were collected earlier pointed there too.
  await deps.links.removeDead(new Set(view.containers().map(({ id }) => id)));
  await files.remove(uid);
}
