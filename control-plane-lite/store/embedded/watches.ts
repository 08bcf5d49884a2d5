/** Watches of an embedded store. One that starts at the newest revision gets each commit as it happens. One
 *  that starts in the past first gets history, batch by batch, and none of the commits meanwhile: batches are
 *  ordered with the commits, so the one that reaches the newest revision leaves no gap. */
import { StoreError, type StoreEvent, type StoreWatch, type WatchSink } from '../contract.ts';

export interface HistoryPiece {
  readonly events: readonly StoreEvent[];
  /** No further events exist up to this revision. */
  readonly upTo: number;
}

export interface WatchesDeps {
  /** The revision up to which `publish` was called. */
  readonly revision: () => number;
  /** Calls back in order with the calls of `publish`, so never before it returns. */
  readonly history: (prefix: string, after: number, done: (piece: HistoryPiece | StoreError) => void) => void;
  /** Called when a sink threw; its watch is over. */
  readonly onSinkError: (thrown: unknown) => void;
}

export interface Watches {
  readonly open: (prefix: string, after: number, sink: WatchSink) => StoreWatch;
  /** Delivers a commit's events to every watch that is current. */
  readonly publish: (events: readonly StoreEvent[]) => void;
  readonly endAll: (error: StoreError) => void;
}

interface Watch {
  readonly prefix: string;
  readonly sink: WatchSink;
  /** The revision up to which events were delivered or are not needed. */
  after: number;
  live: boolean;
  progressWanted: boolean;
}

export function createWatches(deps: WatchesDeps): Watches {
  const watches = new Set<Watch>();

  /** A sink that throws must neither skip the other sinks nor fail the write. */
  function give(watch: Watch, call: (sink: WatchSink) => void): void {
    try {
      call(watch.sink);
    } catch (thrown) {
      watches.delete(watch);
      deps.onSinkError(thrown);
    }
  }

  function end(watch: Watch, error: StoreError): void {
    if (watches.delete(watch)) give(watch, (sink) => sink.onEnd(error));
  }

  function giveProgress(watch: Watch): void {
    watch.progressWanted = false;
    give(watch, (sink) => sink.onProgress(deps.revision()));
  }

  function onPiece(watch: Watch, piece: HistoryPiece | StoreError): void {
    if (!watches.has(watch)) return;
    if (piece instanceof StoreError) return end(watch, piece);
    watch.after = piece.upTo;
    if (piece.events.length > 0) give(watch, (sink) => sink.onEvents(piece.events));
    if (piece.upTo < deps.revision()) return catchUp(watch);
    watch.live = true;
    if (watch.progressWanted && watches.has(watch)) giveProgress(watch);
  }

  function catchUp(watch: Watch): void {
    if (watches.has(watch)) deps.history(watch.prefix, watch.after, (piece) => onPiece(watch, piece));
  }

  function selected(watch: Watch, events: readonly StoreEvent[]): readonly StoreEvent[] {
    const { prefix, after } = watch;
    const wanted = (event: StoreEvent): boolean => event.revision > after && event.key.startsWith(prefix);
    return events.every(wanted) ? events : events.filter(wanted);
  }

  return {
    open(prefix, after, sink) {
      const live = after >= deps.revision();
      const watch: Watch = { prefix, sink, after, live, progressWanted: false };
      watches.add(watch);
      if (!live) catchUp(watch);
      return {
        requestProgress() {
          watch.progressWanted = true;
          queueMicrotask(() => {
            if (watch.live && watch.progressWanted && watches.has(watch)) giveProgress(watch);
          });
        },
        close: () => void watches.delete(watch),
      };
    },
    publish(events) {
      for (const watch of watches) {
        if (!watch.live) continue;
        const wanted = selected(watch, events);
        if (wanted.length > 0) give(watch, (sink) => sink.onEvents(wanted));
      }
    },

    endAll(error) {
      for (const watch of watches) end(watch, error);
    },
  };
}
