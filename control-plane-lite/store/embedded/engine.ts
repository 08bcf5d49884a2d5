/** Store in an SQLite database, in the store's own thread, which waits for the disk. Writes that arrive
 *  together share a transaction; longer tasks take a step between transactions. So a write waits for one step
 *  of each task at most, and never for other writes. */
import { Buffer } from 'node:buffer';
import { setImmediate as nextStep } from 'node:timers/promises';
import {
  type RangeOptions,
  type RangeResult,
  type StoredItem,
  StoreError,
  type StoreWatch,
  type WriteResult,
} from '../contract.ts';
import { keyAfter, prefixEnd } from '../keys.ts';
import type { ServableStore, ServedSink } from '../thread/serve.ts';
import type { LogTable, Write } from './log-table.ts';

export interface EngineDeps {
  readonly table: LogTable;
  readonly maxValueBytes: number;
  readonly toError: (thrown: unknown, action: string) => StoreError;
  /** Closes the files. */
  readonly close: () => void;
}

interface PendingWrite extends Write {
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: StoreError) => void;
}

/** Maximum size of a transaction: the log would outgrow its retained size. */
const TRANSACTION_BYTES = 16 * 1024 * 1024;

/** An open engine. */
interface Engine extends EngineDeps {
  pending: PendingWrite[];
  sweeping: Promise<void> | undefined;
  /** Present while watches are held. */
  held: PromiseWithResolvers<void> | undefined;
  isClosed: boolean;
}

export function createEngine(deps: EngineDeps): ServableStore {
  const engine: Engine = { ...deps, pending: [], sweeping: undefined, held: undefined, isClosed: false };
  const { table, maxValueBytes } = deps;
  // Continues a sweep that the last process did not finish. The next compaction removes the versions that it fails to
  // remove.
  sweep(engine).catch(() => undefined);
  return {
    isShared: false,
    revisionStep: 1,
    currentRevision: async () => attempt(engine, 'reading', () => table.revision()),
    get: async (key) => attempt(engine, 'reading', () => table.get(key)),
    range: (prefix, options = {}) => readRange(engine, prefix, options),
    put: (key, value, expected) =>
      value.length > maxValueBytes
        ? Promise.reject(tooLarge(key, value.length, maxValueBytes))
        : enqueue(engine, { key, value, expected: expected === 'absent' ? 0 : expected }),
    delete: (key, expected) => enqueue(engine, { key, value: undefined, expected }),
    watch: (prefix, after, sink) => openWatch(engine, prefix, after, sink),
    holdWatches(isHeld) {
      engine.held?.resolve();
      engine.held = isHeld ? Promise.withResolvers() : undefined;
    },
    async compact(revision) {
      attempt(engine, 'compacting', () => {
        requireReached(table, revision);
        if (revision > table.compacted()) table.setCompacted(revision);
      });
      await sweep(engine);
    },
    async close() {
      if (engine.isClosed) return;
      commit(engine);
      engine.isClosed = true;
      deps.close();
    },
  };
}

/** @throws StoreError */
function attempt<T>({ isClosed, toError }: Engine, action: string, work: () => T): T {
  if (isClosed) throw closedError();
  try {
    return work();
  } catch (thrown) {
    throw toError(thrown, action);
  }
}

function enqueue(engine: Engine, write: Write): Promise<WriteResult> {
  if (engine.isClosed) return Promise.reject(closedError());
  // Includes writes of other messages that arrive in this turn of the event loop.
  if (engine.pending.length === 0) setImmediate(() => commit(engine));
  return new Promise((resolve, reject) => {
    engine.pending.push({ ...write, resolve, reject });
  });
}

function commit(engine: Engine): void {
  const { table, pending, toError } = engine;
  engine.pending = [];
  for (const transaction of transactions(pending)) {
    try {
      const results = table.apply(transaction);
      for (const [i, result] of results.entries()) transaction[i]?.resolve(result);
    } catch (thrown) {
      const error = toError(thrown, 'writing');
      for (const { reject } of transaction) reject(error);
    }
  }
}

/** Reads a range of one revision: however many steps it takes, it shows one state. */
async function readRange(engine: Engine, prefix: string, options: RangeOptions): Promise<RangeResult> {
  const { table } = engine;
  const { after, limit = Number.POSITIVE_INFINITY } = options;
  await nextStep();
  const revision = options.revision ?? table.revision();
  requireReached(table, revision);
  const items: StoredItem[] = [];
  const end = prefixEnd(prefix);
  let from = startOf(prefix, after);
  for (;;) {
    const step = readStep(engine, revision, () => table.range(from, end, revision));
    for (const item of step.items) items.push(item);
    if (items.length > limit) return { revision, items: items.slice(0, limit), more: true };
    if (step.next === undefined) return { revision, items, more: false };
    from = step.next;
    await nextStep();
  }
}

/** @throws StoreError, also if the revision has been compacted meanwhile */
function readStep<T>(engine: Engine, revision: number, read: () => T): T {
  return attempt(engine, 'reading', () => {
    requireHeld(engine.table, revision);
    return read();
  });
}

function openWatch(engine: Engine, prefix: string, after: number, sink: ServedSink): StoreWatch {
  const { table, toError } = engine;
  const closing = new AbortController();
  let isLive = false;
  let isProgressDue = false;
  const run = async (): Promise<void> => {
    const upTo = await catchUp(engine, { prefix, after, sink, signal: closing.signal });
    if (closing.signal.aborted) return;
    isLive = true;
    sink.onLive(upTo);
    if (isProgressDue) sink.onProgress(table.revision());
  };
  run().catch((thrown: unknown) => {
    if (!closing.signal.aborted) sink.onEnd(toError(thrown, 'reading'));
  });
  return {
    requestProgress() {
      if (isLive) sink.onProgress(table.revision());
      else isProgressDue = true;
    },
    close: () => closing.abort(),
  };
}

interface Following {
  readonly prefix: string;
  readonly after: number;
  readonly sink: ServedSink;
  readonly signal: AbortSignal;
}

/** Delivers history in steps until the watch has caught up; returns its revision. */
async function catchUp(engine: Engine, { prefix, after, sink, signal }: Following): Promise<number> {
  const { table } = engine;
  let upTo = after;
  const [from, end] = [Buffer.from(prefix), prefixEnd(prefix)];
  while (upTo < table.revision() && !signal.aborted) {
    const step = readStep(engine, upTo, () => table.history(from, end, upTo));
    upTo = step.upTo;
    if (step.events.length > 0) sink.onEvents(step.events);
    await nextStep();
    await engine.held?.promise;
  }
  return upTo;
}

function sweep(engine: Engine): Promise<void> {
  engine.sweeping ??= sweepAll(engine).finally(() => {
    engine.sweeping = undefined;
  });
  return engine.sweeping;
}

/** Removes superfluous versions, in steps. */
async function sweepAll(engine: Engine): Promise<void> {
  do await nextStep();
  while (attempt(engine, 'compacting', () => engine.table.sweep()));
}

/** Splits the writes into transactions of a reasonable size. */
function transactions(writes: readonly PendingWrite[]): readonly (readonly PendingWrite[])[] {
  let current: PendingWrite[] = [];
  const all: PendingWrite[][] = [];
  let bytes = TRANSACTION_BYTES;
  for (const write of writes) {
    bytes += write.value?.length ?? 0;
    if (bytes >= TRANSACTION_BYTES) {
      current = [];
      all.push(current);
      bytes = write.value?.length ?? 0;
    }
    current.push(write);
  }
  return all;
}

function startOf(prefix: string, after: string | undefined): Buffer {
  const start = Buffer.from(prefix);
  const next = after === undefined ? start : keyAfter(after);
  return Buffer.compare(next, start) > 0 ? next : start;
}

/** @throws StoreError `compacted` */
function requireHeld(table: LogTable, revision: number): void {
  const oldest = table.compacted();
  if (revision >= oldest) return;
  const message = `revision ${revision} is compacted: the oldest that is held is ${oldest}`;
  throw new StoreError('compacted', message, { revision: oldest });
}

/** @throws StoreError `future` */
function requireReached(table: LogTable, revision: number): void {
  const newest = table.revision();
  if (revision <= newest) return;
  const message = `revision ${revision} has not been reached yet: the newest is ${newest}`;
  throw new StoreError('future', message, { revision: newest });
}

function closedError(): StoreError {
  return new StoreError('closed', 'the store is closed');
}

function tooLarge(key: string, bytes: number, maxBytes: number): StoreError {
  return new StoreError(
    'tooLarge',
    `the value of ${key} has ${bytes} bytes, more than the limit of ${maxBytes}`,
  );
}
