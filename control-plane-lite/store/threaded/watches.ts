/** Watches of a store in another thread. */
import type { StoreError, StoreEvent, StoreWatch, WatchSink } from '../contract.ts';
import { type RecordReader, readEvent } from '../records.ts';
import type { WatchRequest } from './protocol.ts';

export interface WatchesDeps {
  readonly ask: (request: WatchRequest) => void;
  readonly onSinkError: (thrown: unknown) => void;
}

export interface Watches {
  readonly open: (prefix: string, after: number, sink: WatchSink) => StoreWatch;
  readonly onEvents: (watch: number, count: number, reader: RecordReader) => void;
  readonly onProgress: (watch: number, revision: number) => void;
  readonly onEnd: (watch: number, error: StoreError) => void;
  readonly endAll: (error: StoreError) => void;
}

/** Delivers the thread's messages to each watch. A sink that throws ends its own watch only. */
export function createWatches({ ask, onSinkError }: WatchesDeps): Watches {
  const sinks = new Map<number, WatchSink>();
  let last = 0;

  function close(watch: number): void {
    if (sinks.delete(watch)) ask({ kind: 'unwatch', watch });
  }

  function give(watch: number, call: (sink: WatchSink) => void): void {
    const sink = sinks.get(watch);
    if (sink === undefined) return;
    try {
      call(sink);
    } catch (thrown) {
      close(watch);
      onSinkError(thrown);
    }
  }

  function onEnd(watch: number, error: StoreError): void {
    const sink = sinks.get(watch);
    if (!sinks.delete(watch)) return;
    try {
      sink?.onEnd(error);
    } catch (thrown) {
      onSinkError(thrown);
    }
  }

  return {
    open(prefix, after, sink) {
      last += 1;
      const watch = last;
      sinks.set(watch, sink);
      ask({ kind: 'watch', watch, prefix, after });
      return {
        requestProgress() {
          if (sinks.has(watch)) ask({ kind: 'progress', watch });
        },
        close: () => close(watch),
      };
    },
    onEvents(watch, count, reader) {
      const events: StoreEvent[] = [];
      for (let i = 0; i < count; i += 1) {
        const event = readEvent(reader);
        if (event !== undefined) events.push(event);
      }
      give(watch, (sink) => sink.onEvents(events));
    },
    onProgress: (watch, revision) => give(watch, (sink) => sink.onProgress(revision)),
    onEnd,
    endAll(error) {
      const open = [...sinks.keys()];
      for (const watch of open) onEnd(watch, error);
    },
  };
}
