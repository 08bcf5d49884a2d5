/** Keeps the record of one pod up to date. Writes follow each other, and none takes back what another wrote. */
import { createLimiter } from '#api/kit/limiter.ts';
import type { PodRecord } from './record.ts';

/** What may change while a pod lives. */
export type RecordChanges = Partial<Pick<PodRecord, 'pod' | 'terminal'>>;

export interface RecordWriter {
  /** Writes the record with the changes; they are not part of later writes when this one fails. */
  readonly write: (changes: RecordChanges) => Promise<void>;
  /** Resolves when no write is under way. */
  readonly settled: () => Promise<void>;
}

export function createRecordWriter(
  save: (record: PodRecord) => Promise<void>,
  first: PodRecord,
): RecordWriter {
  const turns = createLimiter(1);
  let record = first;
  return {
    write: (changes) =>
      turns.run(async () => {
        const next = { ...record, ...changes };
        await save(next);
        record = next;
      }),
    settled: () => turns.run(() => Promise.resolve()),
  };
}
