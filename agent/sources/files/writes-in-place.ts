/** Tracks files that are being written in place, according to events. A renamed file is complete; a file
 *  written in place is complete only once its writer pauses. Holds only times (monotonic ms). */

export interface WriteWatch {
  /** Records a write to the file. */
  note(path: string, nowMs: number): void;
  /** Returns when the file may be read; undefined without a recent write. */
  restsAtMs(path: string): number | undefined;
  /** Call after a read that began at `startMs`. @returns when to read again, undefined if the read was
   *  complete */
  afterRead(path: string, startMs: number): number | undefined;
}

/** @param settleMs required pause of the writer
 *  @param graceMs maximum wait for a pause before the file is read anyway */
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
        // A file that is written continuously, such as a log, is not read after every settle time.
        return startMs + (startMs - write.firstMs > graceMs ? graceMs : settleMs);
      }
      writes.delete(path);
      return undefined;
    },
  };
}
