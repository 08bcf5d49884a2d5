/** Event messages for pods whose volume cannot be attached. Pure. Source: upstream's attach/detach
 *  reconciler, release 1.24. */
import type { UsingPod } from './model.ts';

/** Event message for one pod. */
export interface PodMessage {
  readonly pod: UsingPod;
  readonly message: string;
}

/** Messages do not reveal names of pods in other namespaces. */
function usersFor(pod: UsingPod, others: readonly UsingPod[]): string {
  const near = others.filter(({ namespace }) => namespace === pod.namespace);
  const far = others.length - near.length;
  if (near.length === 0) return `${far} pod(s) in different namespaces`;
  const names = `pod(s) ${near.map(({ name }) => name).join(', ')}`;
  return far === 0 ? names : `${names} and ${far} pod(s) in different namespaces`;
}

/** `others`: pods that use the volume on the nodes that have it. */
export const multiAttach = (
  label: string,
  pods: readonly UsingPod[],
  others: readonly UsingPod[],
): readonly PodMessage[] =>
  pods.map((pod) => {
    const why =
      others.length === 0
        ? `Volume is already exclusively attached to one node and can't be attached to another`
        : `Volume is already used by ${usersFor(pod, others)}`;
    return { pod, message: `Multi-Attach error for volume "${label}" ${why}` };
  });

/** Event messages for the node and the volume. */
export const detachFailed = (label: string, nodeName: string, reason: string): string =>
  `DetachVolume.Detach failed for volume "${label}" on node "${nodeName}" : ${reason}`;

export const attachFailed = (
  label: string,
  pods: readonly UsingPod[],
  reason: string,
): readonly PodMessage[] =>
  pods.map((pod) => ({ pod, message: `AttachVolume.Attach failed for volume "${label}" : ${reason}` }));
