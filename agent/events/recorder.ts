/** Event recorder of the node: counted, bounded, in memory. Events of core/v1.
 *  Callers exclude secrets from messages; the recorder truncates long ones and drops floods. */

import type { Event, ObjectReference } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
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

/** All members present must match; `kind`, `namespace`, `name` and `uid` are those of the involved object. */
export interface EventFilter {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly type?: EventType;
  readonly reason?: string;
}

export interface EventRecorder {
  /** Records an event; a repeat increments the count of the first one.
   *  @param reason CamelCase token
   *  @param message sentence without secrets; truncated at 1024 characters */
  event(involved: ObjectReference, type: EventType, reason: string, message: string): void;
  /** Returns the stored events that match, in order of their last occurrence. */
  list(filter?: EventFilter): readonly Event[];
  /** Calls the listener, synchronously, with each event new or repeated.
   *  @returns a function that unsubscribes */
  onEvent(listener: (event: Event) => void): () => void;
}

const MAX_EVENTS = 1000;
const LONGEST_MESSAGE = 1024;
const DEFAULT_NAMESPACE = 'default';

function describeInvolved(involved: ObjectReference): string {
  const { kind = '', namespace = '', name = '', uid = '', fieldPath = '' } = involved;
  return [kind, namespace, name, uid, fieldPath].join('/');
}

/** Reports whether the event matches every member of the filter. */
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
  /** In order of the last occurrence. */
  const stored = new Map<string, Event>();
  let lastNumber = 0n;

  /** Unique even for two events in one millisecond or after the clock was set back. */
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

  function store(key: string, event: Event): void {
    stored.delete(key);
    stored.set(key, event);
    const oldest = stored.keys().next();
    if (stored.size > MAX_EVENTS && oldest.done !== true) stored.delete(oldest.value);
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
      const first = stored.get(outcome.key);
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
      store(outcome.key, event);
      const fields = { object, reason, eventMessage: event.message, count: event.count };
      if (first !== undefined) log.debug(fields, 'Event repeated');
      else if (type === 'Warning') log.warn(fields, 'Event recorded');
      else log.info(fields, 'Event recorded');
      listeners.notify(event);
    },
    list: (filter = {}) => [...stored.values()].filter((event) => matchesFilter(event, filter)),
    onEvent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
