/** Writes that wait to be sent to the thread, and those whose outcome is pending. */
import { createTransientMap } from '#api/kit/transient.ts';
import type { StoreError, StoreEvent, WriteResult } from '../contract.ts';
import {
  type PackableRecord,
  type PackedRecords,
  packRecords,
  type RecordReader,
  readItem,
  toEvent,
} from '../records.ts';
import type { Turn } from './protocol.ts';

export interface Writes {
  /** @param value undefined: to be deleted
   *  @param expected the revision, 0 for absent */
  readonly add: (key: string, value: Buffer | undefined, expected: number) => Promise<WriteResult>;
  /** Takes all unsent writes, to be sent; none while as many messages as allowed are in flight.
   *  @param isLast takes them in any case */
  readonly take: (isLast: boolean) => PackedRecords | undefined;
  /** Settles the outcomes of the turn from this index on; returns the index behind them. Events are published
   *  before a writer gets its result. */
  readonly settle: (outcomes: Turn['outcomes'], from: number, count: number, reader: RecordReader) => number;
  readonly fail: (write: number, error: StoreError) => void;
  readonly failAll: (error: StoreError) => void;
  /** Whether `take` would return some. */
  readonly areDue: () => boolean;
}

export interface WritesOptions {
  /** Number of messages with writes in flight, while further writes are gathered. */
  readonly maxInFlight: number;
  /** Receives the events of successful writes, in order. */
  readonly publish: ((events: readonly StoreEvent[]) => void) | undefined;
}

interface Writer extends PackableRecord {
  readonly value: Buffer | undefined;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: StoreError) => void;
}

export function createWrites({ maxInFlight, publish }: WritesOptions): Writes {
  /** By their numbers, which the thread counts as well. */
  const writers = createTransientMap<number, Writer>();
  let unsent: Writer[] = [];
  let lastSent = 0;
  /** Number of the last write of each message in flight, oldest first. */
  let inFlight: number[] = [];

  function taken(write: number): Writer | undefined {
    const writer = writers.get(write);
    writers.delete(write);
    if (write >= (inFlight[0] ?? Number.POSITIVE_INFINITY)) inFlight = inFlight.filter((end) => end > write);
    return writer;
  }

  const areDue = (): boolean => unsent.length > 0 && inFlight.length < maxInFlight;

  return {
    add: (key, value, number) =>
      new Promise((resolve, reject) => {
        unsent.push({ key, value, number, resolve, reject });
      }),
    areDue,
    take(isLast) {
      if (!areDue() && !(isLast && unsent.length > 0)) return undefined;
      for (const writer of unsent) {
        lastSent += 1;
        writers.set(lastSent, writer);
      }
      if (maxInFlight < Number.POSITIVE_INFINITY) inFlight.push(lastSent);
      const packed = packRecords(unsent);
      unsent = [];
      return packed;
    },
    settle(outcomes, from, count, reader) {
      const events: StoreEvent[] = [];
      const settled: (Writer | undefined)[] = [];
      const results: WriteResult[] = [];
      const end = from + 2 * count;
      for (let at = from; at < end; at += 2) {
        const writer = taken(outcomes[at] ?? 0);
        const revision = outcomes[at + 1] ?? 0;
        settled.push(writer);
        if (revision > 0) {
          if (writer !== undefined && publish !== undefined) {
            events.push(toEvent(writer.key, writer.value, revision));
          }
          results.push({ ok: true, revision });
        } else results.push({ ok: false, current: revision === 0 ? undefined : readItem(reader) });
      }
      if (events.length > 0) publish?.(events);
      for (let i = 0; i < count; i += 1) {
        const result = results[i];
        if (result !== undefined) settled[i]?.resolve(result);
      }
      return end;
    },
    fail: (write, error) => taken(write)?.reject(error),
    failAll(error) {
      const all = [...writers.values(), ...unsent];
      writers.clear();
      unsent = [];
      for (const { reject } of all) reject(error);
    },
  };
}
