/** Reads docker's log files of one container in order, across docker's rotations. */
import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { hasCode } from '#api/kit/errno.ts';

export interface SourceFile {
  /** Reads the next bytes into `block`; 0 at the present end. */
  read(block: Buffer): Promise<number>;
  close(): Promise<void>;
}

interface OpenSource {
  readonly file: FileHandle;
  readonly inode: number;
  offset: number;
}

const inodeOf = async (path: string): Promise<number | undefined> => {
  try {
    return (await stat(path)).ino;
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT', 'ENOTDIR')) return undefined;
    throw thrown;
  }
};

/** @param path of the current file; docker renames it to `<path>.1` when it is full */
export function createSourceFile(path: string): SourceFile {
  const rotated = `${path}.1`;
  let source: OpenSource | undefined;
  /** Inodes of the files that were read to their end. */
  const finished = new Set<number>();

  async function openAt(from: string): Promise<OpenSource | undefined> {
    try {
      const file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW);
      return { file, inode: (await file.stat()).ino, offset: 0 };
    } catch (thrown) {
      if (hasCode(thrown, 'ENOENT')) return undefined;
      throw thrown;
    }
  }

  /** Opens the oldest file that has not been read; undefined if there is none. */
  async function openNext(): Promise<OpenSource | undefined> {
    for (const candidate of [rotated, path]) {
      const inode = await inodeOf(candidate);
      if (inode === undefined || finished.has(inode)) continue;
      const opened = await openAt(candidate);
      if (opened !== undefined) return opened;
    }
    return undefined;
  }

  async function readFrom(from: OpenSource, block: Buffer): Promise<number> {
    const { bytesRead } = await from.file.read(block, 0, block.length, from.offset);
    from.offset += bytesRead;
    return bytesRead;
  }

  async function read(block: Buffer): Promise<number> {
    source ??= await openNext();
    if (source === undefined) return 0;
    const bytes = await readFrom(source, block);
    if (bytes > 0 || (await inodeOf(path)) === source.inode) return bytes;
    // Docker has closed it by now; the last lines may have come after the read above.
    const last = await readFrom(source, block);
    if (last > 0) return last;
    if (finished.size > 0) finished.clear();
    finished.add(source.inode);
    await source.file.close();
    source = await openNext();
    return source === undefined ? 0 : readFrom(source, block);
  }

  return {
    read,
    async close() {
      await source?.file.close();
      source = undefined;
    },
  };
}
