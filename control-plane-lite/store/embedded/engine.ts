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

export function createEngine({ table, maxValueBytes, toError, close }: EngineDeps): ServableStore {
  let pending: PendingWrite[] = [];
  let sweeping: Promise<void> | undefined;
  let held: PromiseWithResolvers<void> | undefined;
  let isClosed = false;

  function commit(): void {
    const writes = pending;
    pending = [];
    for (const transaction of transactions(writes)) {
      try {
        const results = table.apply(transaction);
        for (const [i, result] of results.entries()) transaction[i]?.resolve(result);
      } catch (thrown) {
        const error = toError(thrown, 'writing');
        for (const { reject } of transaction) reject(error);
      }
    }
  }

  function write(key: string, value: Buffer | undefined, expected: number): Promise<WriteResult> {
    if (isClosed) return Promise.reject(closedError());
    // Includes writes of other messages that arrive in this turn of the event loop.
    if (pending.length === 0) setImmediate(commit);
    return new Promise((resolve, reject) => {
      pending.push({ key, value, expected, resolve, reject });
    });
  }

  /** @throws StoreError */
  function attempt<T>(action: string, work: () => T): T {
    if (isClosed) throw closedError();
    try {
      return work();
    } catch (thrown) {
      throw toError(thrown, action);
    }
  }

  /** A range of one revision: however many steps it takes, it shows one state. */
  async function range(prefix: string, options: RangeOptions): Promise<RangeResult> {
    const { after, limit = Number.POSITIVE_INFINITY } = options;
    await nextStep();
    const revision = options.revision ?? table.revision();
    requireReached(table, revision);
    const items: StoredItem[] = [];
    const end = prefixEnd(prefix);
    let from: Buffer | undefined = startOf(prefix, after);
    for (;;) {
      const start: Buffer = from;
      const step = attempt('reading', () => {
        requireHeld(table, revision);
        return table.range(start, end, revision);
      });
      for (const item of step.items) items.push(item);
      if (items.length > limit) return { revision, items: items.slice(0, limit), more: true };
      if (step.next === undefined) return { revision, items, more: false };
      from = step.next;
      await nextStep();
    }
  }

  /** Delivers history in steps until the watch has caught up; returns its revision. */
  async function catchUp(
    prefix: string,
    after: number,
    sink: ServedSink,
    signal: AbortSignal,
  ): Promise<number> {
    let upTo = after;
    const [from, end] = [Buffer.from(prefix), prefixEnd(prefix)];
    while (upTo < table.revision()) {
      const start = upTo;
      const step = attempt('reading', () => {
        requireHeld(table, start);
        return table.history(from, end, start);
      });
      upTo = step.upTo;
      if (step.events.length > 0) sink.onEvents(step.events);
      await nextStep();
      await held?.promise;
      if (signal.aborted) break;
    }
    return upTo;
  }

  function sweep(): Promise<void> {
    sweeping ??= sweepAll().finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  /** Removes superfluous versions, in steps. */
  async function sweepAll(): Promise<void> {
    do await nextStep();
    while (attempt('compacting', () => table.sweep()));
  }

  // Continues a sweep that the last process did not finish. What it fails to remove, the next compaction removes.
  sweep().catch(() => undefined);

  return {
    isShared: false,
    revisionStep: 1,
    currentRevision: async () => attempt('reading', () => table.revision()),
    get: async (key) => attempt('reading', () => table.get(key)),
    range: (prefix, options = {}) => range(prefix, options),
    put: (key, value, expected) =>
      value.length > maxValueBytes
        ? Promise.reject(tooLarge(key, value.length, maxValueBytes))
        : write(key, value, expected === 'absent' ? 0 : expected),
    delete: (key, expected) => write(key, undefined, expected),
    watch(prefix, after, sink) {
      const closing = new AbortController();
      let isLive = false;
      let isProgressDue = false;
      const run = async (): Promise<void> => {
        const upTo = await catchUp(prefix, after, sink, closing.signal);
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
    },
    holdWatches(isHeld) {
      held?.resolve();
      held = isHeld ? Promise.withResolvers() : undefined;
    },
    async compact(revision) {
      attempt('compacting', () => {
        requireReached(table, revision);
        if (revision > table.compacted()) table.setCompacted(revision);
      });
      await sweep();
    },
    async close() {
      if (isClosed) return;
      commit();
      isClosed = true;
      close();
    },
  };
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
