/** Events about the node, for the recorder of the agent's events. */
import type { EventRecorder } from '../events/recorder.ts';
import type { NodeEvent } from './node-status.ts';

/** Records events of a node. Its name stands for its uid, which is not known before there is a node: as upstream. */
export function createNodeEventSink(
  recorder: Pick<EventRecorder, 'event'>,
  nodeName: string,
): (event: NodeEvent) => void {
  const involved = { kind: 'Node', name: nodeName, uid: nodeName };
  return ({ type, reason, message }) => recorder.event(involved, type, reason, message);
}
