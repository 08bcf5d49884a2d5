/** Record of the images that were imported from archives. Image collection never removes them. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { parseJsonText } from '#api/codec/json-text.ts';
import { hasCode } from '#api/kit/errno.ts';
import { isObject } from '#api/kit/object.ts';

export interface ArchiveRecord {
  readonly sizeBytes: number;
  readonly mtimeMs: number;
  /** Names of the images in the archive. */
  readonly images: readonly string[];
}

/** Records by the name of the archive. */
export type ArchiveRecords = ReadonlyMap<string, ArchiveRecord>;

/** Name of the file below the root directory of the agent. */
export const PINNED_FILE = 'pinned-images.json';

/** Empty without a file; a damaged one is as no file, since the archives are imported again. */
export async function readPinned(path: string): Promise<ArchiveRecords> {
  try {
    return parseRecords(parseJsonText(await readFile(path, 'utf8')));
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT') || thrown instanceof SyntaxError) return new Map();
    throw thrown;
  }
}

function parseRecords(value: unknown): ArchiveRecords {
  const archives = isObject(value) && isObject(value['archives']) ? value['archives'] : {};
  return new Map(
    Object.entries(archives).flatMap(([name, record]): readonly [string, ArchiveRecord][] => {
      if (!isObject(record)) return [];
      const { sizeBytes, mtimeMs, images } = record;
      const isRecord = typeof sizeBytes === 'number' && typeof mtimeMs === 'number' && Array.isArray(images);
      if (!isRecord) return [];
      return [[name, { sizeBytes, mtimeMs, images: images.filter((image) => typeof image === 'string') }]];
    }),
  );
}

export async function writePinned(path: string, records: ArchiveRecords): Promise<void> {
  const text = `${JSON.stringify({ archives: Object.fromEntries(records) }, undefined, 2)}\n`;
  await writeFile(`${path}.new`, text, { mode: 0o644 });
  await rename(`${path}.new`, path);
}

/** Returns the names of the images that image collection retains. */
export const pinnedNames = async (path: string): Promise<readonly string[]> =>
  [...(await readPinned(path)).values()].flatMap(({ images }) => images);
