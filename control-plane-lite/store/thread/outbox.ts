/** Outbox of the store's thread, gathered for the turn of the event loop. */
import type { WriteResult } from '../contract.ts';
import { type PackableRecord, packRecords } from '../records.ts';
import type { Step, Turn } from './protocol.ts';

export interface Outbox {
  /** @param records subject of the step */
  readonly add: (step: Step, records?: readonly PackableRecord[]) => void;
  readonly written: (write: number, result: WriteResult) => void;
  /** The other side has delivered this many bytes of records. */
  readonly taken: (bytes: number) => void;
}

export interface OutboxDeps {
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
export function createOutbox({ send, defer, onPressure }: OutboxDeps): Outbox {
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
