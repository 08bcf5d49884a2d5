/** Puts a backup in the place of a store that nobody uses. Blocks; for a thread of its own.
 *
 *  The revision jumps ahead and everything before counts as compacted: clients that had seen later states than the
 *  backup's start anew, instead of mixing them with what comes.
 *
 *  An interruption leaves the old store, or the new one, or none but the checked copy: then the store refuses to
 *  open until the restore is done again. */
import { chmodSync, copyFileSync, existsSync, renameSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../contract.ts';
import { readRevision } from './backup.ts';
import { type KeyFile, requireRoomForKeys, takeKeys, writeKeys } from './backup-keys.ts';
import { toStoreError } from './failure.ts';
import {
  findDamage,
  removeDatabase,
  requireOwn,
  type StoreFiles,
  storeFiles,
  syncPath,
  takeLock,
} from './files.ts';
import type { WorkerTask } from './protocol.ts';

type RestoreTask = Omit<Extract<WorkerTask, { readonly task: 'restore' }>, 'task'>;

interface Incoming {
  readonly revision: number;
  readonly keys: readonly KeyFile[];
}

/** More than a store can have got ahead of its backup. */
const REVISION_JUMP = 1_000_000_000;

/** Returns the store's new revision. What was there is kept as `store.db.replaced`.
 *  `force`: whether to replace a store that is there; `keysDir`: where the keys of the backup go
 *  @throws StoreError if the backup is damaged or no store, or the directory is in use or has a store */
export function restore({ file: backup, dir, force, keysDir }: RestoreTask): number {
  if (!existsSync(backup)) throw new StoreError('unavailable', `there is no ${backup}`);
  const files = storeFiles(dir);
  const lock = takeLock(files);
  try {
    if (existsSync(files.database) && !force) {
      throw new StoreError('unavailable', `${dir} has a store already: it is only replaced with --force`);
    }
    if (keysDir !== undefined) requireRoomForKeys(backup, keysDir, force);
    const { revision, keys } = bringIn(backup, files);
    clearAway(files);
    if (keysDir !== undefined) writeKeys(keysDir, keys);
    renameSync(files.incoming, files.database);
    syncPath(dir);
    return revision;
  } catch (thrown) {
    throw toStoreError(thrown, 'restoring', backup, dir);
  } finally {
    lock.close();
  }
}

/** Copies first and checks the copy, which is what will be used. */
function bringIn(backup: string, files: StoreFiles): Incoming {
  removeDatabase(files.incoming);
  try {
    copyFileSync(backup, files.incoming);
    chmodSync(files.incoming, 0o600);
    const incoming = prepare(files.incoming, backup);
    syncPath(files.incoming);
    return incoming;
  } catch (thrown) {
    removeDatabase(files.incoming);
    throw thrown;
  }
}

function prepare(path: string, backup: string): Incoming {
  const database = new DatabaseSync(path);
  try {
    requireOwn(database, backup);
    const damage = findDamage(database, 'full');
    if (damage !== undefined) throw new StoreError('corrupt', `${backup} is damaged (${damage})`);
    // Not the write-ahead log: all of the database is then in its one file.
    database.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL');
    const keys = takeKeys(database);
    const revision = readRevision(database) + REVISION_JUMP;
    database.prepare("UPDATE marks SET rev = ? WHERE name = 'compacted'").run(revision);
    return { revision, keys };
  } finally {
    database.close();
  }
}

/** Puts the old store out of the way, with its log: a log that stays behind would be taken for the new one's. */
function clearAway(files: StoreFiles): void {
  if (existsSync(files.database)) {
    removeDatabase(files.replaced);
    renameSync(files.database, files.replaced);
  }
  if (existsSync(files.wal)) renameSync(files.wal, `${files.replaced}-wal`);
  removeDatabase(files.database);
}
