/** Imports the image archives of a directory into the managed containerd, and records their images, which image
 *  collection retains. An archive is imported again when it changes or when one of its images is missing. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createContainerdClient } from './ctr.ts';
import { type ArchiveRecord, type ArchiveRecords, readPinned, writePinned } from './pinned-images.ts';

export interface ArchiveImportOptions {
  /** Directory with the archives; need not exist. */
  readonly folder: string;
  /** File of the records. */
  readonly recordPath: string;
  /** Socket of the containerd that receives the images. */
  readonly socketPath: string;
  readonly log: Logger;
  readonly signal?: AbortSignal;
}

const ARCHIVE_NAME = /\.(?:tar|tar\.gz|tgz|tar\.zst)$/;

/** An archive that cannot be imported is logged and does not affect the others.
 *  @returns names of the images of all archives
 *  @throws MissingProgramError */
export async function importArchives(options: ArchiveImportOptions): Promise<readonly string[]> {
  const { folder, recordPath, log } = options;
  const names = await archiveNames(folder);
  const before = await readPinned(recordPath);
  if (names.length === 0 && before.size === 0) return [];
  const ctr = await createContainerdClient(options);
  const present = new Set(await ctr.imageNames());
  const after = new Map<string, ArchiveRecord>();
  for (const name of names) {
    const known = before.get(name);
    try {
      after.set(name, await importOne(join(folder, name), known));
    } catch (thrown) {
      options.signal?.throwIfAborted();
      log.error(
        { component: 'images', archive: name, err: asError(thrown) },
        'Failed to import image archive',
      );
      // Images of the earlier content are still needed.
      if (known !== undefined) after.set(name, { ...known, sizeBytes: -1 });
    }
  }
  await writePinned(recordPath, after);
  return imagesOf(after);

  async function importOne(path: string, known: ArchiveRecord | undefined): Promise<ArchiveRecord> {
    const { size, mtimeMs } = await stat(path);
    const isCurrent =
      known?.sizeBytes === size &&
      known.mtimeMs === mtimeMs &&
      known.images.every((image) => present.has(image));
    if (isCurrent) return known;
    const images = await ctr.importArchive(path);
    log.info({ component: 'images', archive: path, images }, 'Image archive imported');
    return { sizeBytes: size, mtimeMs, images };
  }
}

const imagesOf = (records: ArchiveRecords): readonly string[] => [
  ...new Set([...records.values()].flatMap(({ images }) => images)),
];

async function archiveNames(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && ARCHIVE_NAME.test(entry.name) && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return [];
    throw thrown;
  }
}
