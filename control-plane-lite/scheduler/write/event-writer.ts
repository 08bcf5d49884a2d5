/** Records events about pods. Written asynchronously, and dropped when there are too many. Source: upstream's
 *  event recorder, release 1.24. */

import type { Clock } from '#api/kit/clock.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import { formatMicroTime } from '#api/meta/time.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import type { PodInfo } from '../fleet/model.ts';

export interface EventWriterDeps {
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly verbs: Pick<Verbs, 'create'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface PodEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly message: string;
  /** Another pod that has to do with it. */
  readonly related?: PodInfo;
}

export interface EventWriter {
  record(pod: PodInfo, event: PodEvent): void;
}

export const SCHEDULER_NAME = 'default-scheduler';

/** Written at a time, and waiting at most. */
const CONCURRENCY = 4;
const MOST_WAITING = 20_000;
const LONGEST_MESSAGE = 1024;

const reference = ({ shape, name, uid }: PodInfo): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  namespace: shape.namespace,
  name,
  uid,
});

/** Runs until the signal is aborted. `instance` identifies this server. */
export function createEventWriter(
  { registry, verbs, clock, log }: EventWriterDeps,
  { instance }: { readonly instance: string },
  signal: AbortSignal,
): EventWriter {
  const resource = registry.find('', 'v1', 'events');
  const limiter = createLimiter(CONCURRENCY);
  const caller = controllerCaller(SCHEDULER_NAME, signal);
  let waiting = 0;
  let count = 0;

  async function write(pod: PodInfo, { message, related, ...event }: PodEvent, nowMs: number): Promise<void> {
    if (resource === undefined) return;
    const { namespace } = pod.shape;
    const nanos = BigInt(Math.trunc(nowMs)) * 1_000_000n;
    count = (count + 1) % 1_000_000;
    // Unique within the millisecond too.
    const name = `${pod.name}.${(nanos + BigInt(count)).toString(16)}`;
    await verbs.create({
      ref: { resource, namespace, name },
      object: {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name, namespace },
        ...event,
        message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE - 1)}…` : message,
        eventTime: formatMicroTime(nanos),
        source: {},
        involvedObject: reference(pod),
        ...(related === undefined ? {} : { related: reference(related) }),
        reportingComponent: SCHEDULER_NAME,
        reportingInstance: `${SCHEDULER_NAME}-${instance}`.slice(0, 128),
      },
      dryRun: false,
      fieldManager: '',
      caller,
    });
  }

  return {
    record(pod, event) {
      if (waiting >= MOST_WAITING || signal.aborted) return;
      waiting += 1;
      const nowMs = clock.now();
      limiter
        .run(() => write(pod, event, nowMs), signal)
        .catch((err: unknown) => {
          if (!signal.aborted) log.debug({ err, pod: pod.key }, 'Failed to write event');
        })
        .finally(() => {
          waiting -= 1;
        });
    },
  };
}
