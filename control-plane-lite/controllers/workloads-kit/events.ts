/** Event recorder of the controllers. Repeated events increment a count, and events per object are
 *  rate-limited. Recording never blocks a controller, and losing an event is not a failure. Source: core/v1
 *  Event; upstream's event correlation (spam filter and duplicates), release 1.24. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createTokenBucket, type TokenBucket } from '#api/kit/token-bucket.ts';
import { formatTime } from '#api/meta/time.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { Caller, ObjectRef, Verbs } from '../../verbs/contract.ts';

export interface EventRecorder {
  /** `reason` is in CamelCase, `message` a sentence. Returns at once. */
  record(about: ApiObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

export interface EventDeps {
  readonly verbs: Pick<Verbs, 'create' | 'update'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly caller: Caller;
}

export interface EventOptions {
  /** Resource of events; absent: they are not served, and nothing is recorded. */
  readonly resource: Resource | undefined;
  /** The reporting component. */
  readonly component: string;
  readonly fieldManager: string;
}

/** Burst of events about one object, and the sustained rate. */
const BURST = 25;
const RATE_PER_SECOND = 1 / 300;
/** Size of the caches of objects and events. */
const REMEMBERED = 4096;
/** Pending events; more are dropped. */
const LONGEST_QUEUE = 1000;
const LONGEST_MESSAGE = 1024;

/** An LRU map. */
function createRecent<V>(): { get(key: string): V | undefined; set(key: string, value: V): void } {
  const entries = new Map<string, V>();
  return {
    get: (key) => entries.get(key),
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      const oldest = entries.size > REMEMBERED ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
    },
  };
}

interface RecordedEvent {
  readonly ref: ObjectRef;
  readonly count: number;
}

interface EventContent {
  readonly about: ApiObject;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

const DEFAULT_NAMESPACE = 'default';

export function createEventRecorder(deps: EventDeps, options: EventOptions): EventRecorder {
  const { verbs, clock, log, caller } = deps;
  const { resource, component, fieldManager } = options;
  const buckets = createRecent<TokenBucket>();
  const recorded = createRecent<RecordedEvent>();
  let pending = 0;
  let last: Promise<void> = Promise.resolve();

  function isAllowed(uid: string): boolean {
    const bucket =
      buckets.get(uid) ?? createTokenBucket(clock, { ratePerSecond: RATE_PER_SECOND, burst: BURST });
    buckets.set(uid, bucket);
    return bucket.tryTake();
  }

  async function countAgain({ ref, count }: RecordedEvent): Promise<RecordedEvent> {
    const now = formatTime(clock.now());
    const change = (live: ApiObject): ApiObject => ({ ...live, count: count + 1, lastTimestamp: now });
    await verbs.update({ ref, change, dryRun: false, fieldManager, caller });
    return { ref, count: count + 1 };
  }

  async function createEvent(
    events: Resource,
    { about, type, reason, message }: EventContent,
  ): Promise<RecordedEvent> {
    const { name = '', namespace: own, uid = '', resourceVersion = '' } = about.metadata;
    const namespace = own ?? DEFAULT_NAMESPACE;
    const now = formatTime(clock.now());
    const place = own === undefined ? {} : { namespace: own };
    const event: ApiObject = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: `${name}.`, namespace },
      involvedObject: {
        kind: about.kind,
        ...place,
        name,
        uid,
        apiVersion: about.apiVersion,
        resourceVersion,
      },
      reason,
      message: message.slice(0, LONGEST_MESSAGE),
      source: { component },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      type,
    };
    const target = { resource: events, namespace, name: '' };
    const { object } = await verbs.create({
      ref: target,
      object: event,
      dryRun: false,
      fieldManager,
      caller,
    });
    return { ref: { ...target, name: object.metadata.name ?? '' }, count: 1 };
  }

  async function write(events: Resource, content: EventContent): Promise<void> {
    const { about, type, reason, message } = content;
    const key = JSON.stringify([about.metadata.uid, about.metadata.name, type, reason, message]);
    const earlier = recorded.get(key);
    const again = earlier === undefined ? undefined : await countAgain(earlier).catch(() => undefined);
    recorded.set(key, again ?? (await createEvent(events, content)));
  }

  return {
    record(about, type, reason, message) {
      if (resource === undefined || pending >= LONGEST_QUEUE || !isAllowed(about.metadata.uid ?? '')) return;
      pending += 1;
      last = last
        .then(() => write(resource, { about, type, reason, message }))
        .catch((thrown: unknown) => log.debug({ err: asError(thrown), reason }, 'Failed to record event'))
        .finally(() => {
          pending -= 1;
        });
    },
  };
}
