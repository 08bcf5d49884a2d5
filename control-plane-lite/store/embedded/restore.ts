/** Replaces an unused store with a backup. Blocking; runs in a thread of its own.
 *
 *  The revision jumps ahead and all earlier ones count as compacted: clients that had seen later states than
 *  the backup's relist, instead of mixing them with new ones.
 *
 *  An interruption leaves the old store, or the new one, or none but the checked copy: then the store refuses
 *  to open until the restore is repeated. */
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
import type { Task } from './task.ts';

type RestoreTask = Omit<Extract<Task, { readonly task: 'restore' }>, 'task'>;

interface Incoming {
  readonly revision: number;
  readonly keys: readonly KeyFile[];
}

/** More revisions than a store can have got ahead of its backup. */
const REVISION_JUMP = 1_000_000_000;

/** Returns the store's new revision. The previous store is retained as `store.db.replaced`. `force`: replace
 *  an existing store; `keysDir`: target of the backup's keys
 *  @throws StoreError if the backup is damaged or not a store, or the directory is in use or has a store */
export function restore({ file: backup, dir, force, keysDir }: RestoreTask): number {
  if (!existsSync(backup)) throw new StoreError('unavailable', `${backup} does not exist`);
  const files = storeFiles(dir);
  const lock = takeLock(files);
  try {
    if (existsSync(files.database) && !force) {
      throw new StoreError('unavailable', `${dir} already contains a store; use --force to replace it`);
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

/** Copies first and checks the copy, which is the file that will be used. */
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
    // Not the write-ahead log: the database must be complete in its one file.
    database.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL');
    const keys = takeKeys(database);
    const revision = readRevision(database) + REVISION_JUMP;
    database.prepare("UPDATE marks SET rev = ? WHERE name = 'compacted'").run(revision);
    return { revision, keys };
  } finally {
    database.close();
  }
}

/** Moves the old store away, with its log: a leftover log would be applied to the new database. */
function clearAway(files: StoreFiles): void {
  if (existsSync(files.database)) {
    removeDatabase(files.replaced);
    renameSync(files.database, files.replaced);
  }
  if (existsSync(files.wal)) renameSync(files.wal, `${files.replaced}-wal`);
  removeDatabase(files.database);
}
