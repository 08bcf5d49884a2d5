/** Events of pods and their containers. */
import type { EventRecorder } from '../events/recorder.ts';
import type { PodEvent } from './operations/deps.ts';

export function createPodEvent(recorder: Pick<EventRecorder, 'event'>): PodEvent {
  return (pod, type, reason, message, container) => {
    const { namespace = '', name = '', uid = '' } = pod.metadata ?? {};
    const involved = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid };
    if (container === undefined) return recorder.event(involved, type, reason, message);
    const inits = pod.spec?.initContainers ?? [];
    const list = inits.some((init) => init.name === container.name) ? 'initContainers' : 'containers';
    recorder.event({ ...involved, fieldPath: `spec.${list}{${container.name}}` }, type, reason, message);
  };
}
