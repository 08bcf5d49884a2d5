/** The node's events: what happened to which object, counted, bounded, in memory. Events of core/v1.
 *  Callers keep secrets out of messages; the recorder shortens long ones and drops floods. */

import type { Clock } from '#api/kit/clock.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Event, ObjectReference } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { createCorrelator } from './correlate.ts';

export type EventType = 'Normal' | 'Warning';

export interface EventRecorderDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Logger;
  /** Name of this node. */
  readonly node: string;
  readonly vocabulary: Pick<Vocabulary, 'agentComponent'>;
}

/** Every member given must match; `kind`, `namespace`, `name` and `uid` are the involved object's. */
export interface EventFilter {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly type?: EventType;
  readonly reason?: string;
}

export interface EventRecorder {
  /** Notes an event; a repeat raises the count of the first one.
   *  @param reason CamelCase token
   *  @param message sentence for people, without secrets; cut at 1024 characters */
  event(involved: ObjectReference, type: EventType, reason: string, message: string): void;
  /** The events kept that match, the one last seen last. */
  list(filter?: EventFilter): readonly Event[];
  /** Calls the listener, synchronously, with each event new or repeated.
   *  @returns a function that ends the subscription */
  onEvent(listener: (event: Event) => void): () => void;
}

const KEPT_EVENTS = 1000;
const LONGEST_MESSAGE = 1024;
const DEFAULT_NAMESPACE = 'default';

function describeInvolved(involved: ObjectReference): string {
  const { kind = '', namespace = '', name = '', uid = '', fieldPath = '' } = involved;
  return [kind, namespace, name, uid, fieldPath].join('/');
}

/** Whether every member that the filter gives is the event's. */
export function matchesFilter(event: Event, filter: EventFilter): boolean {
  const { involvedObject: involved } = event;
  return (
    (filter.kind === undefined || involved.kind === filter.kind) &&
    (filter.namespace === undefined || involved.namespace === filter.namespace) &&
    (filter.name === undefined || involved.name === filter.name) &&
    (filter.uid === undefined || involved.uid === filter.uid) &&
    (filter.type === undefined || event.type === filter.type) &&
    (filter.reason === undefined || event.reason === filter.reason)
  );
}

function shorten(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE - 1)}…`;
}

export function createEventRecorder(deps: EventRecorderDeps): EventRecorder {
  const { clock, log, node, vocabulary } = deps;
  const correlator = createCorrelator();
  const listeners = createListeners<[event: Event]>('events');
  /** In order of the last sighting. */
  const kept = new Map<string, Event>();
  let lastNumber = 0n;

  /** Names stay apart even for two events in one millisecond or after the clock was set back. */
  function eventName(involved: ObjectReference): string {
    const number = BigInt(Math.trunc(clock.now())) * 1_000_000n;
    lastNumber = number > lastNumber ? number : lastNumber + 1n;
    return `${involved.name ?? 'unknown'}.${lastNumber.toString(16)}`;
  }

  function createEvent(involved: ObjectReference, type: EventType, reason: string, message: string): Event {
    const now = new Date(clock.now()).toISOString();
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: eventName(involved), namespace: involved.namespace ?? DEFAULT_NAMESPACE },
      involvedObject: involved,
      reason,
      message,
      source: { component: vocabulary.agentComponent, host: node },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      type,
    };
  }

  function keep(key: string, event: Event): void {
    kept.delete(key);
    kept.set(key, event);
    const oldest = kept.keys().next();
    if (kept.size > KEPT_EVENTS && oldest.done !== true) kept.delete(oldest.value);
  }

  return {
    event(involved, type, reason, message) {
      const object = describeInvolved(involved);
      const groupKey = `${object}\n${type}\n${reason}`;
      const outcome = correlator.correlate(
        { groupKey, objectKey: object, message: shorten(message) },
        clock.monotonic(),
      );
      if (outcome.kind === 'dropped') {
        log.debug({ object, reason }, 'Event dropped: too many for this object');
        return;
      }
      const first = kept.get(outcome.key);
      const fresh = createEvent(involved, type, reason, outcome.message);
      const event =
        first === undefined
          ? fresh
          : {
              ...first,
              message: fresh.message ?? '',
              lastTimestamp: fresh.lastTimestamp ?? '',
              count: (first.count ?? 1) + 1,
            };
      keep(outcome.key, event);
      const fields = { object, reason, eventMessage: event.message, count: event.count };
      if (first !== undefined) log.debug(fields, 'Event repeated');
      else if (type === 'Warning') log.warn(fields, 'Event recorded');
      else log.info(fields, 'Event recorded');
      listeners.notify(event);
    },
    list: (filter = {}) => [...kept.values()].filter((event) => matchesFilter(event, filter)),
    onEvent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
