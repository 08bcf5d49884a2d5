/** Method of events: each change of a record as an event of CRI. */
import type { ContainerEventResponse, ContainerEventType } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import { type DockerContext, nowNs } from '../context.ts';
import type { ImageIndex } from '../images/index.ts';
import type { DockerLink } from '../state/connect.ts';
import type { RecordChange } from '../state/mirror.ts';
import { viewContainerStatus, viewSandboxStatus } from './views.ts';

const TYPES: Readonly<Record<RecordChange['kind'], ContainerEventType>> = {
  created: 'CONTAINER_CREATED_EVENT',
  started: 'CONTAINER_STARTED_EVENT',
  stopped: 'CONTAINER_STOPPED_EVENT',
  deleted: 'CONTAINER_DELETED_EVENT',
};

/** Events that wait for a slow reader; one that falls behind further must list everything again. */
const MOST_WAITING = 10_000;

/** Yields all changes from now on, until the signal fires.
 *  @throws CallRejection when the connection to docker breaks, as events may be missed then */
export async function* containerEvents(
  context: DockerContext,
  link: Pick<DockerLink, 'onStateChange'>,
  signal: AbortSignal,
): AsyncGenerator<MessageInput<ContainerEventResponse>, void, undefined> {
  const { mirror, images, clock } = context;
  const waiting: RecordChange[] = [];
  let news = Promise.withResolvers<void>();
  let broken: CallRejection | undefined;
  const wake = (): void => news.resolve();
  function end(error: CallRejection): void {
    broken = error;
    wake();
  }
  const stops = [
    mirror.onChange((change) => {
      waiting.push(change);
      if (waiting.length > MOST_WAITING)
        end(new CallRejection('ResourceExhausted', 'events were read too slowly'));
      wake();
    }),
    link.onStateChange((state) => {
      if (state === 'away') end(new CallRejection('Unavailable', 'the connection to docker broke'));
    }),
  ];
  signal.addEventListener('abort', wake, { once: true });
  try {
    while (!signal.aborted) {
      if (broken !== undefined) throw broken;
      const change = waiting.shift();
      if (change !== undefined) yield viewChange(change, images, nowNs(clock));
      else {
        await news.promise;
        news = Promise.withResolvers();
      }
    }
  } finally {
    for (const stop of stops) stop();
    signal.removeEventListener('abort', wake);
  }
}

function viewChange(
  { kind, record }: RecordChange,
  images: Pick<ImageIndex, 'referenceOf'>,
  createdAt: bigint,
): MessageInput<ContainerEventResponse> {
  const event = { containerId: record.id, containerEventType: TYPES[kind], createdAt };
  if (record.kind === 'sandbox') return { ...event, podSandboxStatus: viewSandboxStatus(record) };
  return { ...event, containersStatuses: [viewContainerStatus(record, images.referenceOf(record.imageId))] };
}
