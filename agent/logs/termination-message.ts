/** Reads the termination message file of a container. Its content is entirely controlled by the container. */
import { LogFileError, openRegularFile } from './open-log.ts';

/** Maximum size of a termination message, as defined by the API. */
const TERMINATION_MESSAGE_BYTES = 4096;

/** Returns the last bytes of a regular file as text, cut at a character boundary; undefined if there is no
 *  such file.
 *  A symlink, FIFO, socket, device or directory counts as missing.
 *  @param root directory that must contain the real file */
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

/** Decodes the end of a text; skips the rest of a truncated first character. */
export function decodeTail(bytes: Uint8Array, wasCut: boolean): string {
  const firstWhole = wasCut ? bytes.subarray(0, 4).findIndex((byte) => (byte & 0xc0) !== 0x80) : 0;
  const start = Math.max(0, firstWhole);
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, bytes.byteLength - start).toString('utf8');
}
