/** Serialized writer of one pod record. No write reverts the changes of another. */
import { createLimiter } from '#api/kit/limiter.ts';
import type { PodRecord } from './record.ts';

/** Fields that may change during the lifetime of a pod. */
export type RecordChanges = Partial<Pick<PodRecord, 'pod' | 'terminal'>>;

export interface RecordWriter {
  /** Writes the record with the changes; a failed write is not part of later ones. */
  readonly write: (changes: RecordChanges) => Promise<void>;
  /** Ignores later writes. Resolves when no write is in flight. */
  readonly close: () => Promise<void>;
}

export function createRecordWriter(
  save: (record: PodRecord) => Promise<void>,
  first: PodRecord,
): RecordWriter {
  const turns = createLimiter(1);
  let record = first;
  let closed = false;
  return {
    async write(changes) {
      if (closed) return;
      await turns.run(async () => {
        const next = { ...record, ...changes };
        await save(next);
        record = next;
      });
    },
    close() {
      closed = true;
      return turns.run(() => Promise.resolve());
    },
  };
}
