/** Reflector: lists the objects of one resource, then watches them, resuming where the last watch ended. Notifies
 *  a sink of every change in order. During an outage of the server the sink keeps its content.
 *
 *      list ──▶ watch ──(ended, failed, server unavailable)──▶ watch from the last version
 *        ▲        └──(410: version expired, or rejected)──┐
 *        └───────────────────────────────────────────────┘
 *
 *  Source: efficient detection of changes, document 1; upstream 1.24 reflectors. */
import { type BackoffPolicy, createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ApiClient, Json } from '../client.ts';
import { ApiRequestError } from '../errors.ts';
import { resourceVersionOf } from '../object-fields.ts';
import type { Query, ResourceAddress } from '../resource-path.ts';
import { listAll } from './list-all.ts';

export interface ReflectorDeps {
  readonly client: Pick<ApiClient, 'list' | 'watch'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Calls the listener when another client finds that the server is available again, which ends the backoff.
   *  Returns a function that ends the subscription. */
  readonly onReturn?: (listener: () => void) => () => void;
  /** 0 to 1; for tests. */
  readonly random?: () => number;
}

export interface ReflectorOptions {
  readonly address: ResourceAddress;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** The first list may come from the watch cache of the server, which is cheaper but may be stale. Default
   *  false. */
  readonly mayBeOld?: boolean;
}

export type ObjectChange =
  | { readonly type: 'ADDED' | 'MODIFIED'; readonly object: Json }
  /** `object` is its last state. */
  | { readonly type: 'DELETED'; readonly object: Json };

export interface ReflectorSink {
  /** The whole content, after each list. */
  replace(objects: readonly Json[]): void;
  change(change: ObjectChange): void;
  /** Called once per outage of the server. */
  away?(error: Error): void;
  /** Called when the server is reached for the first time, and at the end of each outage. */
  back?(): void;
}

/** As upstream: long enough to spare a recovering server with a thousand waiting clients. */
const BACKOFF: BackoffPolicy = { initialMs: 800, maxMs: 30_000, resetAfterMs: 120_000, jitter: 1 };
/** The requested watch timeout is one to two times this, so that not all watches end at once. */
const WATCH_SECONDS = 300;
/** Time after which the server should have ended the watch: its host may have failed silently. */
const SILENCE_MS = 30_000;
/** A watch that ends sooner without an event counts as a failure, so that a server that ends each watch
 *  immediately is not flooded. */
const SHORTEST_WATCH_MS = 1000;
const KEY = 'server';

/** Lists and watches until the signal fires. Never rejects. */
export async function runReflector(
  deps: ReflectorDeps,
  options: ReflectorOptions,
  sink: ReflectorSink,
  signal: AbortSignal,
): Promise<void> {
  const { log } = deps;
  const contact = createContact(deps, sink);
  let version: string | undefined;
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        version = await relist(deps, options, sink, signal);
        contact.reached();
        // A caller that only needed the list has aborted.
        if (signal.aborted) return;
      }
      version = await follow(deps, options, { sink, contact, from: version }, signal);
    } catch (thrown) {
      if (signal.aborted) return;
      const failure = asError(thrown);
      if (failure instanceof WatchEndedError) version = failure.version;
      const cause = failure instanceof WatchEndedError ? failure.reasonOfEnd : failure;
      if (mustRelist(cause)) version = undefined;
      const waitMs = contact.failed(cause);
      log.debug({ err: cause, resource: options.address.resource, waitMs }, 'Watch interrupted');
      await patience(deps, waitMs, signal);
    }
  }
}

/** Waits until the time is over, the server is available again, or the signal fires. Never rejects. */
async function patience(
  { clock, onReturn }: ReflectorDeps,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const isBack = new AbortController();
  const end = onReturn?.(() => isBack.abort(new Error('the server is available again')));
  await sleep(clock, waitMs, AbortSignal.any([signal, isBack.signal])).catch(() => undefined);
  end?.();
}

/** A watch that ended with an error, and the last version received. */
class WatchEndedError extends Error {
  override readonly name = 'WatchEndedError';
  readonly version: string;
  readonly reasonOfEnd: Error;

  constructor(version: string, reasonOfEnd: Error) {
    super(reasonOfEnd.message, { cause: reasonOfEnd });
    this.version = version;
    this.reasonOfEnd = reasonOfEnd;
  }
}

/** Reports whether the watch cannot resume from the last version: it is expired, or from another history. An
 *  overloaded or unavailable server does not invalidate the version. */
function mustRelist(error: Error): boolean {
  return error instanceof ApiRequestError && ![429, 502, 503].includes(error.status);
}

interface Contact {
  reached(): void;
  /** @returns the backoff, in ms */
  failed(error: Error): number;
}

function createContact({ clock, random }: ReflectorDeps, sink: ReflectorSink): Contact {
  const backoff = createBackoff(BACKOFF, random);
  let state: 'unknown' | 'here' | 'away' = 'unknown';
  return {
    reached() {
      if (state !== 'here') sink.back?.();
      state = 'here';
    },
    failed(error) {
      const expired = error instanceof ApiRequestError && error.status === 410;
      if (!expired && state !== 'away') {
        state = 'away';
        sink.away?.(error);
      }
      return backoff.fail(KEY, clock.now());
    },
  };
}

const selectors = ({ fieldSelector, labelSelector }: ReflectorOptions): Query => ({
  fieldSelector,
  labelSelector,
});

async function relist(
  { client }: ReflectorDeps,
  options: ReflectorOptions,
  sink: ReflectorSink,
  signal: AbortSignal,
): Promise<string> {
  const query =
    options.mayBeOld === true ? { ...selectors(options), resourceVersion: '0' } : selectors(options);
  const { items, resourceVersion } = await listAll(client, options.address, query, signal);
  sink.replace(items);
  return resourceVersion;
}

interface Following {
  readonly sink: ReflectorSink;
  readonly contact: Contact;
  readonly from: string;
}

/** Runs one watch. @returns the version from which to resume
 *  @throws WatchEndedError */
async function follow(
  { client, clock, random = Math.random }: ReflectorDeps,
  options: ReflectorOptions,
  { sink, contact, from }: Following,
  signal: AbortSignal,
): Promise<string> {
  const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + random()));
  const query = {
    ...selectors(options),
    resourceVersion: from,
    allowWatchBookmarks: true,
    timeoutSeconds,
  };
  const silence = new AbortController();
  const timer = clock.setTimer(
    () => silence.abort(new Error('the server did not end the watch in time')),
    timeoutSeconds * 1000 + SILENCE_MS,
  );
  const startedMs = clock.monotonic();
  let version = from;
  let events = 0;
  try {
    const until = AbortSignal.any([signal, silence.signal]);
    for await (const { type, object } of client.watch(options.address, until, query)) {
      contact.reached();
      events += 1;
      if (type !== 'BOOKMARK') sink.change({ type, object });
      version = resourceVersionOf(object) ?? version;
    }
  } catch (thrown) {
    throw new WatchEndedError(version, asError(thrown));
  } finally {
    timer.cancel();
  }
  if (events === 0 && clock.monotonic() - startedMs < SHORTEST_WATCH_MS) {
    throw new WatchEndedError(version, new Error('the watch ended immediately'));
  }
  return version;
}
