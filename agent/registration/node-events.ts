/** Events of the node, for the event recorder of the agent. */
import type { EventRecorder } from '../events/recorder.ts';
import type { NodeEvent } from './node-status.ts';

/** Records events of a node. The node name is used as its UID, which is unknown before the node exists: as
 *  upstream. */
export function createNodeEventSink(
  recorder: Pick<EventRecorder, 'event'>,
  nodeName: string,
): (event: NodeEvent) => void {
  const involved = { kind: 'Node', name: nodeName, uid: nodeName };
  return ({ type, reason, message }) => recorder.event(involved, type, reason, message);
}
