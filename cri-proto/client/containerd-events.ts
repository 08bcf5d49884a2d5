/** containerd's own event service, which listens on the same socket as its CRI. It tells of an exit about
 *  50 ms before the CRI does, and of what the CRI of older releases does not tell at all. */
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import eventsTable from '../data/containerd-events.json' with { type: 'json' };
import type { GrpcChannel } from './channel.ts';
import { type ContainerdEvent, parseContainerdEvent } from './containerd-event.ts';

const SUBSCRIBE = '/containerd.services.events.v1.Events/Subscribe';

/** Snapshots and content make more events than all else; they are filtered at the source. */
const FILTER = `namespace==${CONTAINERD_CRI_NAMESPACE},topic~="^/?(tasks|containers|sandbox(es)?|images)/"`;

/** The events of the CRI's containerd namespace from the subscription on, until `signal` fires.
 *  @throws CriError; `Unimplemented` if the runtime is not containerd.
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
