/** Queue of writes to the store's thread: those waiting to be sent, and those waiting for their outcome,
 *  which arrives in order. */
import { type Expected, type StoreError, type StoreEvent, type WriteResult } from '../contract.ts';
import { type PackedRecords, packRecords, RecordReader, readItem, toEvent } from '../records.ts';

interface PendingWrite {
  readonly key: string;
  readonly value: Buffer | undefined;
  /** The expected revision, 0 for absent. */
  readonly number: number;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: StoreError) => void;
}

export interface Settled {
  readonly events: readonly StoreEvent[];
  /** Revision of the last successful write; undefined without one. */
  readonly revision: number | undefined;
  /** Resolves the writers. */
  readonly resolveAll: () => void;
}

export interface WriteQueue {
  readonly add: (key: string, value: Buffer | undefined, expected: Expected) => Promise<WriteResult>;
  /** Number of unsent writes. */
  readonly waiting: number;
  /** Number of batches sent and not yet acknowledged. */
  readonly underWay: number;
  /** Takes all unsent writes, to be sent. */
  readonly take: () => PackedRecords | undefined;
  readonly onWritten: (outcomes: Float64Array, conflicts: Uint8Array) => Settled;
  /** All writes in the given number of oldest batches have failed. */
  readonly onFailed: (pieces: number, error: StoreError) => void;
  readonly failAll: (error: StoreError) => void;
}

export function createWriteQueue(): WriteQueue {
  let waiting: PendingWrite[] = [];
  /** Oldest first; each as it was sent. */
  let sent: PendingWrite[][] = [];

  function oldest(writes: number): readonly PendingWrite[] {
    const found: PendingWrite[] = [];
    let pieces = 0;
    for (; found.length < writes && pieces < sent.length; pieces += 1) found.push(...(sent[pieces] ?? []));
    sent = sent.slice(pieces);
    return found;
  }

  return {
    add: (key, value, expected) =>
      new Promise((resolve, reject) => {
        waiting.push({ key, value, number: expected === 'absent' ? 0 : expected, resolve, reject });
      }),
    get waiting() {
      return waiting.length;
    },
    get underWay() {
      return sent.length;
    },
    take() {
      if (waiting.length === 0) return undefined;
      const piece = waiting;
      waiting = [];
      sent.push(piece);
      return packRecords(piece);
    },
    onWritten: (outcomes, conflicts) => settle(oldest(outcomes.length), outcomes, conflicts),
    onFailed(pieces, error) {
      const failed = sent.slice(0, pieces).flat();
      sent = sent.slice(pieces);
      for (const write of failed) write.reject(error);
    },
    failAll(error) {
      const failed = [...sent.flat(), ...waiting];
      sent = [];
      waiting = [];
      for (const write of failed) write.reject(error);
    },
  };
}

function settle(writes: readonly PendingWrite[], outcomes: Float64Array, conflicts: Uint8Array): Settled {
  const events: StoreEvent[] = [];
  const results: WriteResult[] = [];
  const reader = new RecordReader(conflicts);
  let last: number | undefined;
  for (const [i, write] of writes.entries()) {
    const revision = outcomes[i] ?? 0;
    if (revision > 0) {
      last = revision;
      events.push(toEvent(write.key, write.value, revision));
      results.push({ ok: true, revision });
    } else {
      results.push({ ok: false, current: revision === 0 ? undefined : readItem(reader) });
    }
  }
  const resolveAll = (): void => {
    for (const [i, result] of results.entries()) writes[i]?.resolve(result);
  };
  return { events, revision: last, resolveAll };
}
