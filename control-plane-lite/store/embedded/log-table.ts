/** Version log: every version of every key in one table, by revision. An index of keys and revisions finds
 *  the newest version or that at some revision. Runs in the store's own thread and blocks it; each call is
 *  short or takes one step.
 *
 *  `compacted` is the oldest revision whose state is complete. `swept` is the revision up to which
 *  superfluous versions have been removed: it follows in steps, and continues after a restart. */
import { Buffer } from 'node:buffer';
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { type StoredItem, StoreError, type StoreEvent, type WriteResult } from '../contract.ts';
import { keyAfter } from '../keys.ts';
import { toEvent } from '../records.ts';
import { FIRST_REVISION } from './files.ts';

export interface Write {
  readonly key: string;
  /** Absent: a deletion. */
  readonly value: Uint8Array | undefined;
  /** The expected revision, 0 for absent. */
  readonly expected: number;
}

export interface RangeStep {
  readonly items: readonly StoredItem[];
  /** Position to continue at; undefined at the end. */
  readonly next: Buffer | undefined;
}

export interface HistoryStep {
  readonly events: readonly StoreEvent[];
  readonly upTo: number;
}

export interface LogTable {
  readonly revision: () => number;
  readonly compacted: () => number;
  /** Performs all writes in one durable transaction, or none of them. */
  readonly apply: (writes: readonly Write[]) => readonly WriteResult[];
  readonly get: (key: string) => StoredItem | undefined;
  /** Returns some of the items from key `from` on and before `end`, at the revision. */
  readonly range: (from: Uint8Array, end: Uint8Array, revision: number) => RangeStep;
  /** Returns some of the events after the revision. */
  readonly history: (from: Uint8Array, end: Uint8Array, after: number) => HistoryStep;
  /** Durably rejects older revisions from now on. */
  readonly setCompacted: (revision: number) => void;
  /** Removes some superfluous versions; returns false if none are left. */
  readonly sweep: () => boolean;
}

/** A step reads no more than this, so that writes do not wait long. */
const STEP_ROWS = 256;
const STEP_BYTES = 1024 * 1024;
const STEP_REVISIONS = 2000;
const SWEEP_ROWS = 400;

const SQL = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  newest: 'SELECT rev, value FROM log WHERE key = CAST(? AS TEXT) ORDER BY rev DESC LIMIT 1',
  // For writes, which rarely need the value itself.
  found: 'SELECT rev, value IS NULL AS gone FROM log WHERE key = CAST(? AS TEXT) ORDER BY rev DESC LIMIT 1',
  insert: 'INSERT INTO log (rev, key, value) VALUES (?, CAST(? AS TEXT), ?)',
  // The inner query follows the index only, in key order, and the outer retains that order.
  range: `SELECT log.key, log.rev, log.value FROM (
      SELECT key, max(rev) AS rev FROM log INDEXED BY log_by_key
      WHERE key >= CAST(? AS TEXT) AND key < CAST(? AS TEXT) AND rev <= ? GROUP BY key
    ) AS newest CROSS JOIN log ON log.rev = newest.rev`,
  // The sign prevents the planner from following the keys: their order is useless here.
  history: `SELECT rev, key, value FROM log
    WHERE rev > ? AND rev <= ? AND +key >= CAST(? AS TEXT) AND +key < CAST(? AS TEXT) ORDER BY rev`,
  sweepOld: `DELETE FROM log WHERE rev IN (
      SELECT old.rev FROM log AS new CROSS JOIN log AS old INDEXED BY log_by_key
      ON old.key = new.key AND old.rev < new.rev WHERE new.rev > ? AND new.rev <= ?
    )`,
  sweepEnd: 'SELECT rev FROM log WHERE rev > ? AND rev <= ? ORDER BY rev LIMIT 1 OFFSET ?',
  sweepDeleted:
    'DELETE FROM log WHERE rev IN (SELECT rev FROM log WHERE rev > ? AND rev <= ? AND value IS NULL)',
  mark: 'UPDATE marks SET rev = ? WHERE name = ?',
} as const;

type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>;

export function createLogTable(database: DatabaseSync): LogTable {
  const statements = prepareAll(database);
  const marks = readMarks(database);
  let { compacted, swept } = marks;
  let revision = Math.max(FIRST_REVISION, compacted, marks.newest);

  function transaction<T>(work: () => T): T {
    statements.begin.run();
    try {
      const result = work();
      statements.commit.run();
      return result;
    } catch (thrown) {
      // Some failures have already ended the transaction.
      if (database.isTransaction) database.exec('ROLLBACK');
      throw thrown;
    }
  }

  return {
    revision: () => revision,
    compacted: () => compacted,
    apply(writes) {
      let last = revision;
      const results = transaction(() =>
        writes.map((write) => {
          const result = applyWrite(statements, write, last);
          if (result.ok) last = result.revision;
          return result;
        }),
      );
      revision = last;
      return results;
    },
    get: (key) => toItem(key, statements.newest.get(key)),
    range: (from, end, at) => rangeStep(statements.range, from, end, at),
    history: (from, end, after) => historyStep(statements.history, from, end, after, revision),
    setCompacted(to) {
      transaction(() => statements.mark.run(to, 'compacted'));
      compacted = to;
    },
    sweep() {
      if (swept >= compacted) return false;
      const to = numberOf(statements.sweepEnd.get(swept, compacted, SWEEP_ROWS)?.['rev'] ?? compacted);
      transaction(() => {
        statements.sweepOld.run(swept, to);
        statements.sweepDeleted.run(swept, to);
        statements.mark.run(to, 'swept');
      });
      swept = to;
      return swept < compacted;
    },
  };
}

function prepareAll(database: DatabaseSync): Statements {
  const prepare = (name: keyof typeof SQL): StatementSync => database.prepare(SQL[name]);
  return {
    begin: prepare('begin'),
    commit: prepare('commit'),
    newest: prepare('newest'),
    found: prepare('found'),
    insert: prepare('insert'),
    range: prepare('range'),
    history: prepare('history'),
    sweepOld: prepare('sweepOld'),
    sweepEnd: prepare('sweepEnd'),
    sweepDeleted: prepare('sweepDeleted'),
    mark: prepare('mark'),
  };
}

function readMarks(database: DatabaseSync): { compacted: number; swept: number; newest: number } {
  const read = (sql: string): number => numberOf(database.prepare(sql).get()?.['rev'] ?? 0);
  return {
    compacted: read("SELECT rev FROM marks WHERE name = 'compacted'"),
    swept: read("SELECT rev FROM marks WHERE name = 'swept'"),
    newest: read('SELECT max(rev) AS rev FROM log'),
  };
}

/** @param revision of the last write before it */
function applyWrite(
  { found, newest, insert }: Statements,
  { key, value, expected }: Write,
  revision: number,
): WriteResult {
  const row = found.get(key);
  const present = row === undefined || row['gone'] === 1 ? 0 : numberOf(row['rev']);
  if (present === expected) {
    insert.run(revision + 1, key, value ?? null);
    return { ok: true, revision: revision + 1 };
  }
  return { ok: false, current: present === 0 ? undefined : toItem(key, newest.get(key)) };
}

function toItem(key: string, row: Record<string, SQLOutputValue> | undefined): StoredItem | undefined {
  const value = bytesOf(row?.['value']);
  return row === undefined || value === undefined
    ? undefined
    : { key, value, revision: numberOf(row['rev']) };
}

function rangeStep(statement: StatementSync, from: Uint8Array, end: Uint8Array, revision: number): RangeStep {
  const items: StoredItem[] = [];
  let rows = 0;
  let bytes = 0;
  for (const row of statement.iterate(from, end, revision)) {
    const key = textOf(row['key']);
    const value = bytesOf(row['value']);
    if (value !== undefined) {
      items.push({ key, value, revision: numberOf(row['rev']) });
      bytes += value.length;
    }
    rows += 1;
    if (rows >= STEP_ROWS || bytes >= STEP_BYTES) return { items, next: keyAfter(key) };
  }
  return { items, next: undefined };
}

function historyStep(
  statement: StatementSync,
  from: Uint8Array,
  end: Uint8Array,
  after: number,
  newest: number,
): HistoryStep {
  const events: StoreEvent[] = [];
  const upTo = Math.min(after + STEP_REVISIONS, newest);
  let bytes = 0;
  for (const row of statement.iterate(after, upTo, from, end)) {
    const revision = numberOf(row['rev']);
    const value = bytesOf(row['value']);
    events.push(toEvent(textOf(row['key']), value, revision));
    bytes += value?.length ?? 0;
    if (bytes >= STEP_BYTES) return { events, upTo: revision };
  }
  return { events, upTo };
}

function numberOf(value: SQLOutputValue | undefined): number {
  if (typeof value === 'number') return value;
  throw unexpected('number');
}

function textOf(value: SQLOutputValue | undefined): string {
  if (typeof value === 'string') return value;
  throw unexpected('text');
}

function bytesOf(value: SQLOutputValue | undefined): Buffer | undefined {
  if (value === null || value === undefined) return undefined;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw unexpected('bytes');
}

function unexpected(what: string): StoreError {
  return new StoreError('corrupt', `the store contains something other than ${what}`);
}
