/** Event service of containerd, on the same socket as its CRI. It reports an exit about 50 ms before the CRI
 *  does, and events that the CRI of older releases does not report. */
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import eventsTable from '../data/containerd-events.json' with { type: 'json' };
import type { GrpcChannel } from './channel.ts';
import { type ContainerdEvent, parseContainerdEvent } from './containerd-event.ts';

const SUBSCRIBE = '/containerd.services.events.v1.Events/Subscribe';

/** Most events are of snapshots and content; the server filters them out. */
const FILTER = `namespace==${CONTAINERD_CRI_NAMESPACE},topic~="^/?(tasks|containers|sandbox(es)?|images)/"`;

/** Yields the events in the CRI namespace of containerd, from the subscription until `signal` fires.
 *  @throws CriError; `Unimplemented` if the runtime is not containerd
 *  @throws ProtobufError for an event that cannot be decoded */
export async function* watchContainerdEvents(
  channel: Pick<GrpcChannel, 'stream'>,
  signal: AbortSignal,
): AsyncGenerator<ContainerdEvent, void, undefined> {
  const types = createMessageTypes(eventsTable);
  const envelope = types.type('Envelope');
  const request = types.type('SubscribeRequest').encode({ filters: [FILTER] });
  for await (const bytes of channel.stream(SUBSCRIBE, request, { signal, timeoutMs: 0 })) {
    const event = parseContainerdEvent(types, envelope.decode(bytes), CONTAINERD_CRI_NAMESPACE);
    if (event !== undefined) yield event;
  }
}
