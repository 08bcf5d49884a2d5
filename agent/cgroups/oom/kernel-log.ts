/** Reader of the kernel log since the last read. Reads never block; callers poll when they have a reason. */

import { constants, type FileHandle, open } from 'node:fs/promises';
import koffi from 'koffi';
import { hasCode } from '#api/kit/errno.ts';

export interface KernelLog {
  /** Returns records since the last call, oldest first. @throws Error of the file system */
  read(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Maximum size of a record. */
const RECORD_BYTES = 8192;
/** Maximum number of records per read; more would be outdated. */
const MOST_RECORDS = 2000;
const SEEK_END = 2;

/** Starts at the current end of the log. @throws Error when the log is not readable */
export async function openKernelLog(path = '/dev/kmsg'): Promise<KernelLog> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const seek: (fd: number, offset: number, whence: number) => number = koffi
    .load('libc.so.6')
    .func('long lseek(int, long, int)');
  seek(file.fd, 0, SEEK_END);
  const buffer = Buffer.alloc(RECORD_BYTES);
  return { read: () => readRecords(file, buffer), close: () => file.close() };
}

async function readRecords(file: FileHandle, buffer: Buffer): Promise<readonly string[]> {
  const records: string[] = [];
  for (let count = 0; count < MOST_RECORDS; count += 1) {
    try {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return records;
      records.push(buffer.toString('utf8', 0, bytesRead));
    } catch (thrown) {
      if (hasCode(thrown, 'EAGAIN')) return records;
      // Records were overwritten: the next read returns the oldest remaining one.
      if (!hasCode(thrown, 'EPIPE')) throw thrown;
    }
  }
  return records;
}
