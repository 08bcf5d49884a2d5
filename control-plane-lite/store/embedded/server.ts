/** Scheduler of the store's own thread. In each turn: all writes that have arrived in one transaction, then
 *  quick requests, then one step of each longer task. So writes wait for one step at most, and never for each
 *  other. */
import { Buffer } from 'node:buffer';
import type { StoreError } from '../contract.ts';
import { prefixEnd } from '../keys.ts';
import { toPlainError } from '../plain-error.ts';
import { type PackableRecord, packRecords } from '../records.ts';
import type { LogTable, Outcome } from './log-table.ts';
import type { Request, ToMain, ToWorker } from './protocol.ts';
import { createCompactions, createRanges, requireHeld } from './tasks.ts';

export interface ServerDeps {
  readonly table: LogTable;
  readonly send: (message: ToMain) => void;
  readonly toError: (thrown: unknown, action: string) => StoreError;
  readonly close: () => void;
}

export interface Server {
  /** Handles the messages and takes a step of each task in progress. Returns true if more steps are left. */
  readonly turn: (messages: readonly ToWorker[]) => boolean;
}

/** Maximum size of a transaction: the log would outgrow its retained size. */
const TRANSACTION_BYTES = 16 * 1024 * 1024;

export function createServer(deps: ServerDeps): Server {
  const { table, send } = deps;
  const fail = (id: number, thrown: unknown, action: string): void =>
    send({ kind: 'failed', id, error: toPlainError(deps.toError(thrown, action)) });
  const ranges = createRanges({ table, send, fail });
  const compactions = createCompactions({ table, send, fail });

  function respond(request: Request): void {
    const { kind, id } = request;
    switch (kind) {
      case 'get': {
        const item = table.get(request.key);
        const items = packRecords(item === undefined ? [] : [item]);
        return send({ kind: 'items', id, items, revision: table.revision(), done: true });
      }
      case 'range':
        return ranges.add(request);
      case 'history': {
        const { prefix, after } = request;
        requireHeld(table, after);
        const { events, upTo } = table.history(Buffer.from(prefix), prefixEnd(prefix), after);
        return send({ kind: 'history', id, events: packRecords(events), upTo });
      }
      case 'compact':
        return compactions.add(id, request.revision);
      case 'close':
        deps.close();
        return send({ kind: 'done', id });
      default:
        kind satisfies never;
    }
  }

  return {
    turn(messages) {
      for (const writes of transactions(messages)) commit(deps, writes);
      for (const { requests } of messages) {
        for (const request of requests) {
          try {
            respond(request);
          } catch (thrown) {
            fail(request.id, thrown, request.kind === 'compact' ? 'compacting' : 'reading');
          }
        }
      }
      const more = ranges.step();
      return compactions.step() || more;
    },
  };
}

function commit(deps: ServerDeps, writes: readonly Uint8Array[]): void {
  try {
    const { outcomes, conflicts } = flatten(deps.table.apply(writes));
    deps.send({ kind: 'written', outcomes, conflicts: packRecords(conflicts) });
  } catch (thrown) {
    const error = toPlainError(deps.toError(thrown, 'writing'));
    deps.send({ kind: 'writeFailed', messages: writes.length, error });
  }
}

/** Splits the writes of the messages into transactions of a reasonable size. */
function transactions(messages: readonly ToWorker[]): readonly (readonly Uint8Array[])[] {
  const all: Uint8Array[][] = [];
  let piece: Uint8Array[] = [];
  let bytes = 0;
  for (const { writes } of messages) {
    if (writes === undefined) continue;
    if (piece.length === 0 || bytes + writes.length > TRANSACTION_BYTES) {
      piece = [];
      all.push(piece);
      bytes = 0;
    }
    piece.push(writes);
    bytes += writes.length;
  }
  return all;
}

function flatten(results: readonly Outcome[]): { outcomes: Float64Array; conflicts: PackableRecord[] } {
  const conflicts: PackableRecord[] = [];
  const outcomes = new Float64Array(results.length);
  for (const [i, result] of results.entries()) {
    if (typeof result === 'number') {
      outcomes[i] = result;
    } else if (result !== undefined) {
      outcomes[i] = -result.number;
      conflicts.push(result);
    }
  }
  return { outcomes, conflicts };
}
