/** Long tasks of the store's thread, done in steps so that writes need not wait for them. */
import { Buffer } from 'node:buffer';
import { StoreError } from '../contract.ts';
import { keyAfter, prefixEnd } from '../keys.ts';
import { packRecords } from '../records.ts';
import type { LogTable } from './log-table.ts';
import type { Request, ToMain } from './protocol.ts';

export interface TaskDeps {
  readonly table: LogTable;
  readonly send: (message: ToMain) => void;
  readonly fail: (id: number, thrown: unknown, action: string) => void;
}

export interface Ranges {
  /** @throws StoreError if the revision is not available. */
  readonly add: (request: Extract<Request, { kind: 'range' }>) => void;
  /** Takes a step of each range. Returns true if any continues. */
  readonly step: () => boolean;
}

interface RangeTask {
  readonly id: number;
  readonly end: Buffer;
  readonly revision: number;
  from: Buffer;
  left: number;
}

/** A range of one revision: however many steps it takes, it shows one state. */
export function createRanges({ table, send, fail }: TaskDeps): Ranges {
  let ranges: readonly RangeTask[] = [];

  /** Returns true if the range continues. */
  function step(task: RangeTask): boolean {
    try {
      requireHeld(table, task.revision);
      const { items, next } = table.range(task.from, task.end, task.revision);
      const wanted = items.length > task.left ? items.slice(0, task.left) : items;
      task.left -= wanted.length;
      const done = next === undefined || task.left === 0;
      send({ kind: 'items', id: task.id, items: packRecords(wanted), revision: task.revision, done });
      task.from = next ?? task.end;
      return !done;
    } catch (thrown) {
      fail(task.id, thrown, 'reading');
      return false;
    }
  }

  return {
    add(request) {
      ranges = [...ranges, createRange(table, request)];
    },
    step() {
      ranges = ranges.filter(step);
      return ranges.length > 0;
    },
  };
}

function createRange(table: LogTable, request: Extract<Request, { kind: 'range' }>): RangeTask {
  const { id, prefix, after } = request;
  const revision = request.revision ?? table.revision();
  if (revision > table.revision()) throw futureError(revision, table.revision());
  requireHeld(table, revision);
  const start = Buffer.from(prefix);
  const next = after === undefined ? start : keyAfter(after);
  const from = Buffer.compare(next, start) > 0 ? next : start;
  return { id, end: prefixEnd(prefix), revision, from, left: request.limit ?? Number.POSITIVE_INFINITY };
}

export interface Compactions {
  /** Durably rejects older revisions at once, and removes them step by step.
   *  @throws StoreError if the revision has not been reached yet. */
  readonly add: (id: number, revision: number) => void;
  /** Removes some superfluous versions. Returns true if there are more. */
  readonly step: () => boolean;
}

export function createCompactions({ table, send, fail }: TaskDeps): Compactions {
  let awaited: readonly number[] = [];
  // The last process may have left some.
  let sweeping = true;

  return {
    add(id, revision) {
      if (revision > table.revision()) throw futureError(revision, table.revision());
      if (revision > table.compacted()) table.setCompacted(revision);
      awaited = [...awaited, id];
      sweeping = true;
    },
    step() {
      if (!sweeping) return false;
      try {
        sweeping = table.sweep();
        if (sweeping) return true;
        for (const id of awaited) send({ kind: 'done', id });
      } catch (thrown) {
        // The rest is removed with the next compaction.
        sweeping = false;
        for (const id of awaited) fail(id, thrown, 'compacting');
      }
      awaited = [];
      return false;
    },
  };
}

/** @throws StoreError `compacted` */
export function requireHeld(table: LogTable, revision: number): void {
  const oldest = table.compacted();
  if (revision >= oldest) return;
  const message = `revision ${revision} is compacted: the oldest that is held is ${oldest}`;
  throw new StoreError('compacted', message, { revision: oldest });
}

function futureError(revision: number, newest: number): StoreError {
  return new StoreError('future', `revision ${revision} has not been reached yet: the newest is ${newest}`, {
    revision: newest,
  });
}
