/** Follows the objects of one resource: a list, then watches that go on where the last one ended. What it learns it
 *  tells a sink, in order. While the server is away the sink keeps what it has and hears nothing.
 *
 *      list ──▶ watch ──(ended, broke off, server away)──▶ watch from the last version
 *        ▲        └──(410: version too old, or refused)──┐
 *        └───────────────────────────────────────────────┘
 *
 *  Source: document 1, efficient detection of changes; upstream 1.24 reflectors. */
import { type BackoffPolicy, createBackoff } from '#api/kit/backoff.ts';
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ApiClient, Json } from './client.ts';
import { ApiRequestError } from './errors.ts';
import { listAll } from './list-all.ts';
import { resourceVersionOf } from './object-fields.ts';
import type { Query, ResourceAddress } from './resource-path.ts';

export interface ReflectorDeps {
  readonly client: Pick<ApiClient, 'list' | 'watch'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Calls the listener when somebody else finds that the server answers again: then it is no use to wait longer.
   *  Returns the function that ends this. */
  readonly onReturn?: (listener: () => void) => () => void;
  /** 0 to 1; for tests. */
  readonly random?: () => number;
}

export interface ReflectorOptions {
  readonly address: ResourceAddress;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** The first list may be what a server remembers rather than what is true now: cheaper for it. Default false. */
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
  /** Told when the server is not to be had, once until it answers again. */
  away?(error: Error): void;
  /** Told when the server answers for the first time, and when it answers again. */
  back?(): void;
}

/** As upstream's: long enough to spare a server that comes back with a thousand clients waiting. */
const BACKOFF: BackoffPolicy = { initialMs: 800, maxMs: 30_000, resetAfterMs: 120_000, jitter: 1 };
/** A watch is asked to end after one to two times this, so that not all end at once. */
const WATCH_SECONDS = 300;
/** Past the time at which the server should have ended the watch: its host may be gone without a word. */
const SILENCE_MS = 30_000;
/** A watch that ends sooner without an event is no success, so that a server that ends each at once isn't flooded. */
const SHORTEST_WATCH_MS = 1000;
const KEY = 'server';

/** Follows until the signal fires. Never rejects. */
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
        // Whom the list was enough has gone.
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
      log.debug({ err: cause, resource: options.address.resource, waitMs }, 'Watch was interrupted');
      await patience(deps, waitMs, signal);
    }
  }
}

/** Waits, but not after the server is back or the signal has fired. Never rejects. */
async function patience(
  { clock, onReturn }: ReflectorDeps,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const isBack = new AbortController();
  const end = onReturn?.(() => isBack.abort(new Error('the server is back')));
  await sleep(clock, waitMs, AbortSignal.any([signal, isBack.signal])).catch(() => undefined);
  end?.();
}

/** A watch that did not end in good order, and how far it got. */
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

/** Whether it is no use to go on from the last version: it is too old, or of another history. What only says that the
 *  server has too much to do, or that it is not to be had, says nothing about the version. */
function mustRelist(error: Error): boolean {
  return error instanceof ApiRequestError && ![429, 502, 503].includes(error.status);
}

interface Contact {
  reached(): void;
  /** @returns how long to wait, in ms */
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

/** One watch. @returns the version from which to go on
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
    throw new WatchEndedError(version, new Error('the watch ended at once'));
  }
  return version;
}
