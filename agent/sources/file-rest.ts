/** Which files are being written to in place, as far as events told. A file that is renamed into place is whole;
 *  one that is written where it lies is whole only when its writer rests. Holds times only (monotonic ms). */

export interface WriteWatch {
  /** Somebody wrote to the file just now. */
  note(path: string, nowMs: number): void;
  /** When the file may be read; undefined when nobody wrote to it. */
  restsAtMs(path: string): number | undefined;
  /** Call after a read that began at `startMs`. @returns when to read again, undefined when the read was whole */
  afterRead(path: string, startMs: number): number | undefined;
}

/** @param settleMs how long a writer must rest
 *  @param graceMs how long an unresting writer is waited for before the file is read anyway */
export function createWriteWatch(settleMs: number, graceMs: number): WriteWatch {
  const writes = new Map<string, { readonly firstMs: number; readonly lastMs: number }>();
  return {
    note(path, nowMs) {
      writes.set(path, { firstMs: writes.get(path)?.firstMs ?? nowMs, lastMs: nowMs });
    },
    restsAtMs(path) {
      const write = writes.get(path);
      return write === undefined ? undefined : Math.min(write.lastMs + settleMs, write.firstMs + graceMs);
    },
    afterRead(path, startMs) {
      const write = writes.get(path);
      if (write !== undefined && write.lastMs >= startMs) {
        // One that never rests, such as a log, is not worth a read at every settle time.
        return startMs + (startMs - write.firstMs > graceMs ? graceMs : settleMs);
      }
      writes.delete(path);
      return undefined;
    },
  };
}
