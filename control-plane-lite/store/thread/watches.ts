/** Watches of a store in another thread. The thread delivers their events; those of a live watch come from the
 *  outcomes of the proxy's own writes. */
import type { StoreError, StoreEvent, StoreWatch, WatchSink } from '../contract.ts';
import { type RecordReader, readEvent } from '../records.ts';
import type { WatchRequest } from './protocol.ts';

export interface WatchesDeps {
  readonly request: (request: WatchRequest) => void;
  /** Called when a sink threw; its watch is over. */
  readonly onSinkError: (thrown: unknown) => void;
}

export interface Watches {
  readonly open: (prefix: string, after: number, sink: WatchSink) => StoreWatch;
  /** Delivers the events of own writes to every live watch. */
  readonly publish: (events: readonly StoreEvent[]) => void;
  readonly onEvents: (watch: number, count: number, reader: RecordReader) => void;
  readonly onLive: (watch: number, revision: number) => void;
  readonly onProgress: (watch: number, revision: number) => void;
  readonly onEnd: (watch: number, error: StoreError) => void;
  readonly endAll: (error: StoreError) => void;
}

interface Watch {
  readonly number: number;
  readonly prefix: string;
  readonly sink: WatchSink;
  /** The revision from which on it is live, if it is. */
  liveAfter: number | undefined;
}

/** A sink that throws ends its own watch only. */
export function createWatches({ request, onSinkError }: WatchesDeps): Watches {
  const watches = new Map<number, Watch>();
  let last = 0;

  function close(watch: number): void {
    if (watches.delete(watch)) request({ kind: 'unwatch', watch });
  }

  function give({ number, sink }: Watch, call: (sink: WatchSink) => void): void {
    try {
      call(sink);
    } catch (thrown) {
      close(number);
      onSinkError(thrown);
    }
  }

  function onEnd(number: number, error: StoreError): void {
    const watch = watches.get(number);
    if (watch === undefined) return;
    watches.delete(number);
    give(watch, (sink) => sink.onEnd(error));
  }

  return {
    open(prefix, after, sink) {
      last += 1;
      const watch = last;
      watches.set(watch, { number: watch, prefix, sink, liveAfter: undefined });
      request({ kind: 'watch', watch, prefix, after });
      return {
        requestProgress() {
          if (watches.has(watch)) request({ kind: 'progress', watch });
        },
        close: () => close(watch),
      };
    },
    publish(events) {
      for (const watch of watches.values()) {
        const selected = selectEvents(watch, events);
        if (selected.length > 0) give(watch, (sink) => sink.onEvents(selected));
      }
    },
    onEvents(number, count, reader) {
      const events: StoreEvent[] = [];
      for (let i = 0; i < count; i += 1) {
        const event = readEvent(reader);
        if (event !== undefined) events.push(event);
      }
      const watch = watches.get(number);
      if (watch !== undefined) give(watch, (sink) => sink.onEvents(events));
    },
    onLive(number, revision) {
      const watch = watches.get(number);
      if (watch !== undefined) watch.liveAfter = revision;
    },
    onProgress(number, revision) {
      const watch = watches.get(number);
      if (watch !== undefined) give(watch, (sink) => sink.onProgress(revision));
    },
    onEnd,
    endAll(error) {
      const open = [...watches.keys()];
      for (const watch of open) onEnd(watch, error);
    },
  };
}

function selectEvents(
  { prefix, liveAfter = Number.POSITIVE_INFINITY }: Watch,
  events: readonly StoreEvent[],
): readonly StoreEvent[] {
  const isSelected = (event: StoreEvent): boolean =>
    event.revision > liveAfter && event.key.startsWith(prefix);
  return events.every(isSelected) ? events : events.filter(isSelected);
}
