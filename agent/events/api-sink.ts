/** Event sink of the API server: sends events in order within the rate limit. Events queue up to a bound
 *  while the server is unavailable; a repeat of a queued event replaces it. Rejected events are not sent
 *  again. Source: upstream's event sink, release 1.24; `--event-qps`, `--event-burst`. */

import type { Event } from '#api/gen/core-v1.ts';
import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import type { ApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { ServerContact } from '../api-client/server-contact.ts';
import { createEventWriter, eventKey } from './event-writer.ts';

export interface ApiEventSinkDeps {
  /** Not rate-limited: events have a limit of their own. */
  readonly client: Pick<ApiClient, 'create' | 'patch'>;
  readonly contact: ServerContact;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ApiEventSinkOptions {
  /** Requests per second on average; 0 or less is no limit. */
  readonly qps: number;
  /** Maximum burst of requests. */
  readonly burst: number;
}

export interface ApiEventSink {
  /** Queues an event, new or repeated. Never blocks. */
  readonly take: (event: Event) => void;
  /** Sends until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Maximum number of queued events; the oldest are dropped first, as they are the least relevant. */
const MOST_WAITING = 1000;
const RETRY = { initialMs: 1000, maxMs: 10_000, jitter: 0.2 } as const;
const SUBJECT = 'events';

export function createApiEventSink(deps: ApiEventSinkDeps, options: ApiEventSinkOptions): ApiEventSink {
  const { client, contact, clock, log } = deps;
  const bucket = createTokenBucket(clock, { ratePerSecond: options.qps, burst: options.burst });
  const backoff = createBackoff(RETRY);
  const write = createEventWriter(client);
  /** Next event first. An event in flight is still in here. */
  const unsent = new Map<string, Event>();
  let dropped = 0;
  let wake: (() => void) | undefined;

  function take(event: Event): void {
    unsent.set(eventKey(event), event);
    const oldest = unsent.keys().next();
    if (unsent.size > MOST_WAITING && oldest.done !== true) {
      unsent.delete(oldest.value);
      dropped += 1;
    }
    wake?.();
  }

  /** @returns whether the event is done */
  async function send(event: Event, signal: AbortSignal): Promise<boolean> {
    try {
      await write(event, signal);
      contact.succeeded(SUBJECT);
      return true;
    } catch (thrown) {
      signal.throwIfAborted();
      const refused = thrown instanceof ApiRequestError && !thrown.retryable;
      if (refused) log.debug({ err: thrown, reason: event.reason }, 'Event rejected');
      else contact.failed(SUBJECT, thrown);
      return refused;
    }
  }

  async function sendFirst(key: string, signal: AbortSignal): Promise<void> {
    await bucket.take(signal);
    const event = unsent.get(key);
    if (event === undefined) return;
    if (!(await send(event, signal))) return await sleep(clock, backoff.fail(SUBJECT, clock.now()), signal);
    backoff.reset(SUBJECT);
    // A repeat that arrived meanwhile remains to be sent.
    if (unsent.get(key) === event) unsent.delete(key);
    if (dropped > 0) log.warn({ dropped }, 'Pending events dropped while the API server was unavailable');
    dropped = 0;
  }

  async function step(signal: AbortSignal): Promise<void> {
    const first = unsent.keys().next();
    if (first.done !== true) return await sendFirst(first.value, signal);
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
    wake = undefined;
  }

  async function run(signal: AbortSignal): Promise<void> {
    const onAbort = (): void => wake?.();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (!signal.aborted) await step(signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  return { take, run };
}
