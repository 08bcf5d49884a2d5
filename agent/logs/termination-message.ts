/** Reads what a container left in its termination message file. The container wrote every byte of it. */
import { LogFileError, openRegularFile } from './open-log.ts';

/** Most bytes of a termination message, as the API allows. */
export const TERMINATION_MESSAGE_BYTES = 4096;

/** The last bytes of a regular file as text, cut at a character's border; undefined when there is no such file.
 *  A symlink, FIFO, socket, device or directory in its place counts as none.
 * @param root directory that must really contain the file. */
export async function readTerminationMessage(path: string, root?: string): Promise<string | undefined> {
  try {
    const { file, sizeBytes } = await openRegularFile(path, root);
    try {
      const length = Math.min(sizeBytes, TERMINATION_MESSAGE_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, sizeBytes - length);
      return decodeTail(buffer.subarray(0, bytesRead), sizeBytes > length);
    } finally {
      await file.close();
    }
  } catch (thrown) {
    if (thrown instanceof LogFileError) return undefined;
    throw thrown;
  }
}

/** Decodes the end of a text; where its start was cut off, skips what is left of a torn character. */
export function decodeTail(bytes: Uint8Array, wasCut: boolean): string {
  const firstWhole = wasCut ? bytes.subarray(0, 4).findIndex((byte) => (byte & 0xc0) !== 0x80) : 0;
  const start = Math.max(0, firstWhole);
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, bytes.byteLength - start).toString('utf8');
}
