/** Server in the store's thread: executes requests on the store, and sends the results of a turn of the event loop in
 *  one message. */
import type { MessagePort } from 'node:worker_threads';
import type { Store, StoredItem, StoreEvent, StoreWatch, WatchSink, WriteResult } from '../contract.ts';
import { type PackableRecord, packRecords, RecordReader } from '../records.ts';
import {
  type Ready,
  type Refusal,
  type Request,
  type Step,
  type ToThread,
  type Turn,
  toPlainError,
  type WatchRequest,
} from './protocol.ts';

/** A store whose watches can be paused. */
export interface ServableStore extends Store {
  watch(prefix: string, afterRevision: number, sink: ServedSink): StoreWatch;
  readonly holdWatches: (isHeld: boolean) => void;
}

export interface ServedSink extends WatchSink {
  /** Everything up to this revision was delivered, and later events result from the writes of the proxy.
   *  Never called by a shared store. */
  onLive(revision: number): void;
}

export interface ServerDeps {
  readonly send: (turn: Turn) => void;
  readonly defer: (work: () => void) => void;
}

/** Items of a response are sent in parts of about this many bytes. */
const PIECE_BYTES = 256 * 1024;

/** Serves the store to the proxy in the main thread, or reports why it cannot be opened. */
export function serveThread(port: MessagePort, open: () => ServableStore): void {
  const send = (message: Ready | Refusal | Turn): void => {
    const records = message.kind === 'turn' ? message.records : undefined;
    port.postMessage(message, records === undefined || records.length === 0 ? [] : [records.buffer]);
  };
  let store: ServableStore;
  try {
    store = open();
  } catch (thrown) {
    return send({ kind: 'refused', error: toPlainError(thrown) });
  }
  port.on('message', serveStore(store, { send, defer: setImmediate }));
  send({ kind: 'ready' });
}

/** @returns the handler of the other side's messages */
export function serveStore(store: ServableStore, deps: ServerDeps): (message: ToThread) => void {
  const outbox = createOutbox({ ...deps, onPressure: store.holdWatches });
  const follow = createFollower(store, outbox);
  let writes = 0;

  async function write(number: number, result: Promise<WriteResult>): Promise<void> {
    try {
      outbox.written(number, await result);
    } catch (thrown) {
      outbox.add({ kind: 'notWritten', write: number, error: toPlainError(thrown) });
    }
  }

  async function reply(request: Exclude<Request, WatchRequest>): Promise<void> {
    const { id } = request;
    try {
      switch (request.kind) {
        case 'currentRevision':
          return outbox.add({ kind: 'revision', id, revision: await store.currentRevision() });
        case 'get': {
          const records = recordsOf(await store.get(request.key));
          const count = records.length;
          return outbox.add({ kind: 'items', id, count, revision: 0, more: false, isLast: true }, records);
        }
        case 'range':
          return await range(request);
        case 'compact':
          await store.compact(request.revision);
          return outbox.add({ kind: 'done', id });
        case 'close':
          await store.close();
          return outbox.add({ kind: 'done', id });
        default:
          request satisfies never;
      }
    } catch (thrown) {
      outbox.add({ kind: 'failed', id, error: toPlainError(thrown) });
    }
  }

  async function range(request: Extract<Request, { kind: 'range' }>): Promise<void> {
    const { id, prefix, revision: at, after, limit } = request;
    const { items, revision, more } = await store.range(prefix, {
      ...(at === undefined ? {} : { revision: at }),
      ...(after === undefined ? {} : { after }),
      ...(limit === undefined ? {} : { limit }),
    });
    const pieces = piecesOf(items);
    for (const [i, piece] of pieces.entries()) {
      const isLast = i === pieces.length - 1;
      outbox.add({ kind: 'items', id, count: piece.length, revision, more, isLast }, piece);
    }
  }

  return ({ writes: packed, requests, takenBytes }) => {
    if (takenBytes > 0) outbox.taken(takenBytes);
    if (packed !== undefined) {
      const reader = new RecordReader(packed);
      while (reader.next()) {
        writes += 1;
        const { value, number } = reader;
        void write(
          writes,
          value === undefined
            ? store.delete(reader.key(), number)
            : store.put(reader.key(), value, number === 0 ? 'absent' : number),
        );
      }
    }
    for (const request of requests) {
      if ('watch' in request) follow(request);
      else void reply(request);
    }
  };
}

function createFollower(store: ServableStore, outbox: Outbox): (request: WatchRequest) => void {
  const watches = new Map<number, StoreWatch>();

  function open(watch: number, prefix: string, after: number): void {
    const opened = store.watch(prefix, after, {
      onEvents: (events) =>
        outbox.add({ kind: 'events', watch, count: events.length }, events.map(recordOfEvent)),
      onLive: (revision) => outbox.add({ kind: 'live', watch, revision }),
      onProgress: (revision) => outbox.add({ kind: 'progress', watch, revision }),
      onEnd(error) {
        watches.delete(watch);
        outbox.add({ kind: 'ended', watch, error: toPlainError(error) });
      },
    });
    watches.set(watch, opened);
  }

  return (request) => {
    const { kind, watch } = request;
    switch (kind) {
      case 'watch':
        return open(watch, request.prefix, request.after);
      case 'progress':
        return watches.get(watch)?.requestProgress();
      case 'unwatch':
        watches.get(watch)?.close();
        watches.delete(watch);
        return;
      default:
        kind satisfies never;
    }
  };
}

function recordOf({ key, value, revision }: StoredItem): PackableRecord {
  return { key, value, number: revision };
}

function recordsOf(item: StoredItem | undefined): readonly PackableRecord[] {
  return item === undefined ? [] : [recordOf(item)];
}

function recordOfEvent(event: StoreEvent): PackableRecord {
  const { key, revision: number } = event;
  return { key, value: event.type === 'put' ? event.value : undefined, number };
}

/** At least one. */
function piecesOf(items: readonly StoredItem[]): readonly PackableRecord[][] {
  let piece: PackableRecord[] = [];
  const pieces = [piece];
  let bytes = 0;
  for (const item of items) {
    if (bytes > PIECE_BYTES) {
      piece = [];
      pieces.push(piece);
      bytes = 0;
    }
    piece.push(recordOf(item));
    bytes += item.value.length;
  }
  return pieces;
}

interface Outbox {
  /** @param records subject of the step */
  readonly add: (step: Step, records?: readonly PackableRecord[]) => void;
  readonly written: (write: number, result: WriteResult) => void;
  /** The other side has delivered this many bytes of records. */
  readonly taken: (bytes: number) => void;
}

interface OutboxDeps {
  readonly send: (turn: Turn) => void;
  readonly defer: (work: () => void) => void;
  /** Whether the other side has enough work: watches should pause. */
  readonly onPressure: (isHigh: boolean) => void;
}

/** Maximum size of a turn's records, in bytes; beyond it they are sent immediately. */
const TURN_BYTES = 1024 * 1024;
/** Bytes sent and not yet delivered. */
const HIGH_BYTES = 16 * 1024 * 1024;
const LOW_BYTES = HIGH_BYTES / 2;

/** Sends at the end of the turn; sooner if the content is large, or many callers wait for it. */
function createOutbox({ send, defer, onPressure }: OutboxDeps): Outbox {
  let records: PackableRecord[] = [];
  let recordBytes = 0;
  let outcomes: number[] = [];
  let steps: Step[] = [];
  /** Outcomes after the last step. */
  let writtenCount = 0;
  let isDue = false;
  let sentBytes = 0;
  let isHigh = false;

  function endWritten(): void {
    if (writtenCount === 0) return;
    steps.push({ kind: 'written', count: writtenCount });
    writtenCount = 0;
  }

  function flush(): void {
    isDue = false;
    endWritten();
    if (steps.length === 0) return;
    const turn: Turn = {
      kind: 'turn',
      records: packRecords(records),
      outcomes: Float64Array.from(outcomes),
      steps,
    };
    records = [];
    recordBytes = 0;
    outcomes = [];
    steps = [];
    sentBytes += turn.records.length;
    send(turn);
    checkPressure();
  }

  function checkPressure(): void {
    const isNow = sentBytes > (isHigh ? LOW_BYTES : HIGH_BYTES);
    if (isNow === isHigh) return;
    isHigh = isNow;
    onPressure(isHigh);
  }

  function flushSoon(): void {
    // Many callers wait for a revision, and for nothing else.
    if (recordBytes > TURN_BYTES || steps.at(-1)?.kind === 'revision') return flush();
    if (isDue) return;
    isDue = true;
    defer(flush);
  }

  function addRecord(record: PackableRecord): void {
    records.push(record);
    recordBytes += record.value?.length ?? 0;
  }

  return {
    add(step, about = []) {
      endWritten();
      steps.push(step);
      for (const record of about) addRecord(record);
      flushSoon();
    },
    written(write, result) {
      const current = result.ok ? undefined : result.current;
      outcomes.push(write, result.ok ? result.revision : current === undefined ? 0 : -1);
      if (current !== undefined) addRecord({ ...current, number: current.revision });
      writtenCount += 1;
      flushSoon();
    },
    taken(bytes) {
      sentBytes -= bytes;
      checkPressure();
    },
  };
}
