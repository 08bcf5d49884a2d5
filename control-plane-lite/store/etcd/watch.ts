/** Watch of an etcd cluster that outlives its connections: it resumes from its position on another server.
 *
 *  connecting → streaming → (connection lost) → connecting, after a delay; any → over (closed, or history is
 *  lost) */
import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { type Backoff, createBackoff } from '#api/kit/backoff.ts';
import type { Clock, Timer } from '#api/kit/clock.ts';
import { StoreError, type StoreEvent, type StoreWatch, type WatchSink } from '../contract.ts';
import type { Keys } from './keys.ts';
import { headerRevision, type Method, messageIn, messagesIn, numberIn } from './messages.ts';
import { createProgress, type Progress } from './progress.ts';
import { revisionOf, wholeCommitAt } from './revisions.ts';
import type { Servers, WatchStream } from './servers.ts';

export interface WatchDeps {
  readonly servers: Pick<Servers, 'stream' | 'next'>;
  readonly method: Method;
  /** Reports whether the state of the commit is still available. */
  readonly holds: (commit: number) => Promise<boolean>;
  /** Whether the servers' progress responses are reliable. */
  readonly isExact: () => Promise<boolean>;
  readonly clock: Clock;
  /** Called when the sink threw; the watch is over. */
  readonly onSinkError: (thrown: unknown) => void;
  readonly onOver: () => void;
}

export interface WatchTarget {
  /** Bytes of the keys, and the first after them. */
  readonly from: Buffer;
  readonly end: Buffer;
  readonly after: number;
  readonly keys: Keys;
}

export interface EtcdWatch extends StoreWatch {
  /** Ends it with the error, unless it is over already. */
  readonly end: (error: StoreError) => void;
  /** Pauses delivery; events wait, most of them in the cluster. */
  readonly hold: (isHeld: boolean) => void;
}

/** Interval at which an idle watch requests its progress, so that compaction doesn't overtake it. */
const REMIND_MS = 60_000;
const RECONNECT = { initialMs: 100, maxMs: 3000, jitter: 0.5 };

/** Watch ID of responses to a progress request, which go to all watches of a stream. */
const ALL_WATCHES = -1;

export function startWatch(
  deps: WatchDeps,
  target: WatchTarget,
  sink: WatchSink,
  isHeld: boolean,
): EtcdWatch {
  const watch = new ReconnectingWatch(deps, target, sink, isHeld);
  watch.connect();
  return watch;
}

class ReconnectingWatch implements EtcdWatch {
  private readonly deps: WatchDeps;
  private readonly target: WatchTarget;
  private readonly sink: WatchSink;
  private readonly progress: Progress;
  private readonly backoff: Backoff = createBackoff(RECONNECT);
  private isOver = false;
  private isHeld: boolean;
  private stream: WatchStream | undefined = undefined;
  private isExact = false;
  /** The newest revision when the stream's watch was created. */
  private createdAt = 0;
  private timer: Timer | undefined = undefined;
  /** Everything up to here was delivered, or is not needed. */
  private seen: number;

  constructor(deps: WatchDeps, target: WatchTarget, sink: WatchSink, isHeld: boolean) {
    this.deps = deps;
    this.target = target;
    this.sink = sink;
    this.isHeld = isHeld;
    this.seen = target.after;
    this.progress = createProgress({
      clock: deps.clock,
      request: () => void this.stream?.write({ progressRequest: {} }),
      onProgress: (revision) => this.giveProgress(revision),
    });
  }

  requestProgress(): void {
    if (!this.isOver) this.progress.request();
  }

  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.progress.pause();
    this.timer?.cancel();
    this.stream?.cancel();
    this.stream = undefined;
    this.deps.onOver();
  }

  end(error: StoreError): void {
    if (this.isOver) return;
    this.close();
    try {
      this.sink.onEnd(error);
    } catch (thrown) {
      this.deps.onSinkError(thrown);
    }
  }

  hold(isHeld: boolean): void {
    this.isHeld = isHeld;
    if (isHeld) this.stream?.pause();
    else this.stream?.resume();
  }

  connect(): void {
    this.open().catch((thrown: unknown) => {
      if (thrown instanceof StoreError && thrown.reason === 'compacted') this.end(thrown);
      // No server is available: the next attempt may find one.
      else this.reconnectLater();
    });
  }

  private async open(): Promise<void> {
    const { servers, method, holds, isExact } = this.deps;
    // A watch from the next revision is allowed even if the state itself is gone, and then lacks deletions.
    const commit = wholeCommitAt(this.seen);
    if (commit > 0 && !(await holds(commit))) throw compactedError();
    this.isExact = await isExact();
    const opened = await servers.stream(method);
    if (this.isOver) opened.cancel();
    else this.follow(opened);
  }

  private follow(opened: WatchStream): void {
    this.stream = opened;
    const lost = (): void => {
      if (this.stream !== opened) return;
      this.stream = undefined;
      this.progress.pause();
      this.deps.servers.next();
      this.reconnectLater();
    };
    opened.on('data', (response: DecodedMessage) => {
      if (this.stream === opened) this.onResponse(response);
    });
    if (this.isHeld) opened.pause();
    opened.on('error', lost);
    opened.on('end', lost);
    const { from, end } = this.target;
    // The events of an incompletely received commit arrive again.
    const startRevision = wholeCommitAt(this.seen) + 1;
    opened.write({ createRequest: { key: from, rangeEnd: end, startRevision, progressNotify: true } });
  }

  private reconnectLater(): void {
    if (this.isOver) return;
    const { clock } = this.deps;
    this.timer?.cancel();
    this.timer = clock.setTimer(() => this.connect(), this.backoff.fail('', clock.monotonic()));
  }

  private remindLater(): void {
    this.timer?.cancel();
    this.timer = this.deps.clock.setTimer(() => {
      this.progress.request();
      this.remindLater();
    }, REMIND_MS);
  }

  private onResponse(response: DecodedMessage): void {
    if (response['canceled'] === true) return this.end(cancelError(response));
    if (response['created'] === true) {
      this.createdAt = revisionOf(headerRevision(response));
      this.backoff.reset('');
      this.progress.begin(this.isExact);
      return this.remindLater();
    }
    const events = messagesIn(response, 'events');
    if (events.length > 0) return this.onEvents(events);
    const revision = revisionOf(headerRevision(response));
    if (numberIn(response, 'watchId') === ALL_WATCHES) return this.progress.onResponse(revision);
    this.seen = Math.max(this.seen, revision);
    this.give((sink) => sink.onProgress(revision));
  }

  private onEvents(messages: readonly DecodedMessage[]): void {
    const { keys } = this.target;
    const all = messages.map((message) => toEvent(message, keys));
    const events = all.filter(({ revision }) => revision > this.seen);
    const last = events.at(-1)?.revision ?? 0;
    this.seen = Math.max(this.seen, last);
    if (events.length > 0) this.give((sink) => sink.onEvents(events));
    if (last > this.createdAt) this.progress.caughtUp();
  }

  private giveProgress(revision: number): void {
    // An uncertain position cannot be resumed from.
    if (this.isExact) this.seen = Math.max(this.seen, revision);
    this.give((sink) => sink.onProgress(revision));
  }

  private give(call: (sink: WatchSink) => void): void {
    if (this.isOver) return;
    try {
      call(this.sink);
    } catch (thrown) {
      this.close();
      this.deps.onSinkError(thrown);
    }
  }
}

function toEvent(message: DecodedMessage, keys: Keys): StoreEvent {
  const { key, value, revision } = keys.toItem(messageIn(message, 'kv'));
  return message['type'] === 'DELETE'
    ? { type: 'delete', key, revision }
    : { type: 'put', key, value, revision };
}

function cancelError(response: DecodedMessage): StoreError {
  const oldest = numberIn(response, 'compactRevision');
  if (oldest > 0) return compactedError(revisionOf(oldest));
  const reason = response['cancelReason'];
  return new StoreError(
    'unavailable',
    `etcd ended the watch: ${typeof reason === 'string' ? reason : 'no reason given'}`,
  );
}

function compactedError(oldest?: number): StoreError {
  const message = 'the history that the watch needs is compacted away';
  return new StoreError('compacted', message, oldest === undefined ? {} : { revision: oldest });
}
