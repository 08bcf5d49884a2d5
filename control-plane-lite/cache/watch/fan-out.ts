/** Delivers the changes of one resource to its watchers. A new watcher catches up on its own (`catch-up.ts`),
 *  then joins the group with the same selection (`watch-groups.ts`): without a gap, because it joins in the
 *  very turn in which it has caught up, and without duplicates, because earlier changes were flushed
 *  before. Under load, the changes of several turns of the event loop share one round of writes. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import type { ByteSink, CacheChange, EventEncoder, Watch, WatchOptions } from '../contract.ts';
import { compileSelection } from '../state/selection.ts';
import { type CatchUp, type CatchUpSource, startCatchUp } from './catch-up.ts';
import { createWatchGroups, type Watcher } from './watch-groups.ts';

export interface FanOutDeps {
  readonly source: CatchUpSource;
  /** Schedules `flush` for a later turn of the event loop, soon. */
  readonly schedule: () => void;
  readonly setTimer: (fire: () => void, delayMs: number) => Timer;
  readonly random: () => number;
  /** Called when a sink threw. */
  readonly onError: (error: unknown) => void;
}

export interface FanOut {
  /** Adds an applied change. */
  offer(change: CacheChange): void;
  /** Writes the changes added since the last flush, and continues catching up. */
  flush(): void;
  watch(options: WatchOptions, encoder: EventEncoder, sink: ByteSink): Watch;
  endAll(reason: 'expired' | 'unavailable'): void;
}

const CHANGES_PER_TURN = 2048;

/** Reports whether the client took the bytes written to it. */
async function whenDrained(drained: Promise<void>, then: (taken: boolean) => void): Promise<void> {
  const taken = await drained.then(
    () => true,
    () => false,
  );
  then(taken);
}

export function createFanOut(deps: FanOutDeps): FanOut {
  const { source, schedule, onError } = deps;
  const groups = createWatchGroups({ ...deps, revision: source.revision, write });
  const starting = new Map<Watcher, CatchUp>();
  let pending: CacheChange[] = [];

  function close(watcher: Watcher): void {
    watcher.closed = true;
    starting.delete(watcher);
    groups.leave(watcher);
  }

  /** A failing sink does not affect the others. */
  function safely(watcher: Watcher, action: () => void): void {
    try {
      action();
    } catch (error) {
      close(watcher);
      onError(error);
    }
  }

  function write(watcher: Watcher, bytes: Buffer, readers = 1): void {
    if (watcher.closed || bytes.length === 0) return;
    safely(watcher, () => watcher.sink.write(bytes, readers));
  }

  function end(watcher: Watcher, reason: 'expired' | 'unavailable'): void {
    if (watcher.closed) return;
    close(watcher);
    safely(watcher, () => watcher.sink.end(reason));
  }

  function begin(watcher: Watcher, catchUp: CatchUp): void {
    starting.set(watcher, catchUp);
    schedule();
  }

  function advance(watcher: Watcher, catchUp: CatchUp): void {
    const step = catchUp.next();
    if (step.kind === 'expired') return end(watcher, 'expired');
    watcher.position = step.position;
    write(watcher, step.bytes);
    if (watcher.closed) return;
    if (step.kind === 'more') return pause(watcher, catchUp);
    starting.delete(watcher);
    groups.join(watcher);
    safely(watcher, () => watcher.sink.initialized?.());
  }

  /** Waits until the client is ready for more. */
  function pause(watcher: Watcher, catchUp: CatchUp): void {
    const drained = watcher.sink.drained?.();
    if (drained === undefined) return schedule();
    starting.delete(watcher);
    void whenDrained(drained, (taken) => {
      if (!taken) end(watcher, 'unavailable');
      else if (!watcher.closed) begin(watcher, catchUp);
    });
  }

  function finish(watcher: Watcher): void {
    if (watcher.group !== undefined) write(watcher, groups.lastBytes(watcher, pending));
    close(watcher);
  }

  return {
    offer(change) {
      if (groups.isEmpty) return;
      pending.push(change);
      schedule();
    },
    flush() {
      // After a gap there may be more than one turn should process.
      const changes = pending.splice(0, CHANGES_PER_TURN);
      groups.flush(changes, pending.length === 0);
      if (pending.length > 0) schedule();
      for (const [watcher, catchUp] of starting) advance(watcher, catchUp);
    },
    watch(options, encoder, sink) {
      const matches = compileSelection(options);
      const watcher = { options, encoder, matches, sink, position: 0, closed: false, group: undefined };
      begin(watcher, startCatchUp(source, options, matches, encoder));
      return { close: () => close(watcher), finish: () => finish(watcher) };
    },
    endAll(reason) {
      pending = [];
      for (const watcher of starting.keys()) end(watcher, reason);
      for (const watcher of groups.members()) end(watcher, reason);
    },
  };
}

export interface Flushable {
  flush(): void;
}

/** Rounds take a tenth of the time at most, unless changes would then wait longer than `MAX_WAIT_MS`. */
const SHARE = 10;
const MAX_WAIT_MS = 40;

/** Writing to many watchers costs by the write more than by the byte, so rounds of writes have a distance; a single
 *  change is written immediately. Returns the function that requests a flush. All requests are served together in one later turn: the next
 *  one, or `everyMs` after the start of the last round, or later if that round took long.
 *  @param defer runs a task in the next turn */
export function createFlusher(
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  everyMs: number,
  defer: (task: () => void) => void,
): (flushable: Flushable) => void {
  let due = new Set<Flushable>();
  let nextMs = Number.NEGATIVE_INFINITY;

  function flush(): void {
    const beganMs = clock.monotonic();
    const round = due;
    due = new Set();
    for (const flushable of round) flushable.flush();
    const tookMs = clock.monotonic() - beganMs;
    nextMs = beganMs + Math.min(Math.max(everyMs, tookMs * SHARE), Math.max(everyMs, MAX_WAIT_MS));
  }

  return (flushable) => {
    if (due.size === 0) {
      const waitMs = nextMs - clock.monotonic();
      if (waitMs > 1) clock.setTimer(flush, waitMs);
      else defer(flush);
    }
    due.add(flushable);
  };
}
