/** Directories of staged volumes: created with a record in them first, and removed when they are empty. */
import { mkdir, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { asError, errorCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { StageFolder, StageRecord, UndoState } from '../contract/staging.ts';
import { holdDir } from '../files/held-dir.ts';
import { GLOBAL_MOUNT, pluginsDir, STAGE_RECORD, stageDir } from '../files/layout.ts';
import { removeTree } from '../files/remove-tree.ts';
import type { Mounter } from '../mount/mounter.ts';
import { detachBeneath, realpathOf } from '../mount/teardown.ts';
import type { RecordFiles } from './record-files.ts';
import { formatRecord, parseStageRecord, VolumeRecordError } from './records.ts';

/** Source and name of a volume. */
export type StageKey = Pick<StageRecord, 'source' | 'uniqueName'>;

export interface StageFoldersDeps {
  readonly rootDir: string;
  readonly domain: string;
  readonly files: RecordFiles;
  readonly mounter: Mounter;
  readonly log: Logger;
}

export interface StageFolders {
  pathOf(key: StageKey): string;
  /** Returns the directory with its record, and creates it if needed; a damaged record is replaced. */
  enter(key: StageKey): Promise<StageFolder>;
  open(path: string, record: StageRecord): StageFolder;
  /** Returns the record. An unusable record is logged once. */
  read(path: string): Promise<StageRecord | 'none' | 'damaged'>;
  /** Returns every directory whose name is that of a staged volume. */
  list(): Promise<readonly string[]>;
  /** Detaches mounts in it, and removes it. */
  remove(path: string): Promise<void>;
}

const HASH = /^[0-9a-f]{64}$/;

async function directoriesIn(dir: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}

export function createStageFolders({ rootDir, domain, files, mounter, log }: StageFoldersDeps): StageFolders {
  const logged = new Set<string>();

  const pathOf = ({ source, uniqueName }: StageKey): string =>
    stageDir(rootDir, `${domain}~${source}`, uniqueName);

  function tellOnce(path: string, err: Error): void {
    if (logged.has(path)) return;
    logged.add(path);
    log.warn({ err, path }, 'Failed to read record of staged volume');
  }

  async function read(path: string): Promise<StageRecord | 'none' | 'damaged'> {
    const file = join(path, STAGE_RECORD);
    try {
      const text = await files.read(file);
      if (text === undefined) return 'none';
      const record = parseStageRecord(text);
      if (pathOf(record) !== path) throw new VolumeRecordError('belongs to another volume');
      return record;
    } catch (thrown) {
      tellOnce(file, asError(thrown));
      return 'damaged';
    }
  }

  function open(path: string, { source, uniqueName, state }: StageRecord): StageFolder {
    let saved = state;
    return {
      path,
      globalMount: join(path, GLOBAL_MOUNT),
      async save(next: UndoState) {
        await files.write(join(path, STAGE_RECORD), formatRecord({ source, uniqueName, state: next }));
        saved = next;
      },
      get saved() {
        return saved;
      },
    };
  }

  return {
    pathOf,
    open,
    read,
    async enter(key) {
      const path = pathOf(key);
      await mkdir(dirname(path), { recursive: true, mode: 0o750 });
      await mkdir(path, { recursive: true, mode: 0o700 });
      const known = await read(path);
      // Plans look up their mounts in the table, which has paths without links.
      const real = await realpath(path);
      if (typeof known === 'object') return open(real, known);
      const folder = open(real, { ...key, state: {} });
      await folder.save({});
      return folder;
    },
    async list() {
      const plugins = (await directoriesIn(pluginsDir(rootDir))).filter((name) =>
        name.startsWith(`${domain}~`),
      );
      const dirs = plugins.map((name) => join(pluginsDir(rootDir), name));
      const found = await Promise.all(
        dirs.map(async (dir) =>
          (await directoriesIn(dir)).filter((name) => HASH.test(name)).map((name) => join(dir, name)),
        ),
      );
      return found.flat();
    },
    async remove(path) {
      if ((await realpathOf(path)) === undefined) return;
      await detachBeneath(mounter, path);
      await files.remove(join(path, STAGE_RECORD));
      await using parent = await holdDir(dirname(path));
      await removeTree(mounter.syscalls, parent, basename(path));
    },
  };
}
