/** What the kernel has said since the last look. Reads never wait: whoever has a reason to look, looks. */
import { constants, type FileHandle, open } from 'node:fs/promises';
import koffi from 'koffi';
import { codeOf } from '../cgroup-fs.ts';

export interface KernelLog {
  /** Records since the last call, oldest first. @throws Error of the file system */
  read(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** The longest record that the kernel gives. */
const RECORD_BYTES = 8192;
/** Records at one look; more of them are of no use any more. */
const MOST_RECORDS = 2000;
const SEEK_END = 2;

/** Begins with what comes from now on. @throws Error where it may not be read */
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
      if (codeOf(thrown) === 'EAGAIN') return records;
      // Records were lost before they were read: the next read is of the oldest that is left.
      if (codeOf(thrown) !== 'EPIPE') throw thrown;
    }
  }
  return records;
}
