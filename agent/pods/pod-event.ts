/** Events of pods and their containers. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { EventRecorder, EventType } from '../events/recorder.ts';
import type { ContainerSpec } from './decide/decision-types.ts';

/** Records an event about a pod, or about one of its containers. */
export type PodEvent = (
  pod: Pod,
  type: EventType,
  reason: string,
  message: string,
  container?: Pick<ContainerSpec, 'name'>,
) => void;

const LISTS = ['containers', 'initContainers', 'ephemeralContainers'] as const;

export function createPodEvent(recorder: Pick<EventRecorder, 'event'>): PodEvent {
  return (pod, type, reason, message, container) => {
    const { namespace = '', name = '', uid = '' } = pod.metadata ?? {};
    const involved = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid };
    if (container === undefined) return recorder.event(involved, type, reason, message);
    const list = LISTS.find((member) => pod.spec?.[member]?.some(({ name: own }) => own === container.name));
    recorder.event(
      { ...involved, fieldPath: `spec.${list ?? 'containers'}{${container.name}}` },
      type,
      reason,
      message,
    );
  };
}
