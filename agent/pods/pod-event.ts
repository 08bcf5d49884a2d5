/** Events of pods and their containers. */
import type { EventRecorder } from '../events/recorder.ts';
import type { PodEvent } from './operations/deps.ts';

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
