/** Files of an embedded store: names, creation and locking.
 *
 *  `store.db` is an SQLite database in WAL mode, with `store.db-wal` and `store.db-shm` beside it while it is
 *  open. `store.lock` is held by the one process that writes. Other processes may read: a backup does. A new
 *  database is created under another name, so that under its own name it is always complete. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../contract.ts';
import { damaged, isBusy, toStoreError } from './failure.ts';

/** "CPLS", so that `file` and SQLite's tools can distinguish it from other databases. */
const APPLICATION_ID = 0x43_50_4c_53;
const SCHEMA_VERSION = 1;

export interface StoreFiles {
  readonly dir: string;
  readonly database: string;
  readonly wal: string;
  readonly lock: string;
  /** A restored database before it is moved into place. */
  readonly incoming: string;
  /** The store before the last restore. */
  readonly replaced: string;
  readonly making: string;
}

export function storeFiles(dir: string): StoreFiles {
  const database = join(dir, 'store.db');
  return {
    dir,
    database,
    wal: `${database}-wal`,
    lock: join(dir, 'store.lock'),
    incoming: `${database}.incoming`,
    replaced: `${database}.replaced`,
    making: `${database}.making`,
  };
}

/** Revisions start at 1, because clients use revision 0 for "any". */
export const FIRST_REVISION = 1;

// A page of 8 KiB holds several objects of a usual size. Keys are text for users of sqlite3(1).
const SCHEMA = `
  PRAGMA page_size = 8192;
  BEGIN;
  CREATE TABLE log (rev INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB) STRICT;
  CREATE UNIQUE INDEX log_by_key ON log (key, rev);
  CREATE TABLE marks (name TEXT PRIMARY KEY, rev INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO marks VALUES ('compacted', 0), ('swept', 0);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
  COMMIT;
`;

// FULL: a commit is on the disk when it returns. The log is checkpointed every 16 MiB.
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 2000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -8192;
  PRAGMA temp_store = MEMORY;
`;

/** Timeout for another program's transaction, such as one of sqlite3(1), in ms. */
const BUSY_TIMEOUT_MS = 5000;

/** Locks out every other process until it is closed; the kernel releases the lock however the process ends.
 *  @throws StoreError `unavailable` if another process has it. */
export function takeLock(files: StoreFiles): DatabaseSync {
  createDir(files.dir);
  closeSync(openSync(files.lock, 'a', 0o600));
  const lock = new DatabaseSync(files.lock, { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return lock;
  } catch (thrown) {
    lock.close();
    if (!isBusy(thrown)) throw thrown;
    const message = `${files.dir} is in use by another process, which holds ${files.lock}`;
    throw new StoreError('unavailable', message, { cause: thrown });
  }
}

/** Creating folders recursively would report ENOENT on a read-only disk. */
function createDir(path: string): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path))) createDir(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** Opens the store for reading and writing; creates it if it doesn't exist. The lock must be held.
 *  @param check whether to read the whole file and check it for damage
 *  @throws StoreError */
export function openDatabase(files: StoreFiles, check: boolean): DatabaseSync {
  if (!existsSync(files.database)) create(files);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(files.database, { timeout: BUSY_TIMEOUT_MS });
    requireOwn(database, files.database);
    const damage = check ? findDamage(database, 'quick') : undefined;
    if (damage !== undefined) throw new StoreError('corrupt', damaged(files.database, damage));
    database.exec(SETTINGS);
    return database;
  } catch (thrown) {
    database?.close();
    throw toStoreError(thrown, 'opening', files.database, files.dir);
  }
}

function create(files: StoreFiles): void {
  if (existsSync(files.wal) || existsSync(files.incoming)) {
    const rest = existsSync(files.incoming) ? files.incoming : files.wal;
    const message = `${files.database} is missing, but ${rest} is there: restore a backup (control-plane-lite restore BACKUP)`;
    throw new StoreError('corrupt', message);
  }
  removeDatabase(files.making);
  closeSync(openSync(files.making, 'wx', 0o600));
  const database = new DatabaseSync(files.making);
  try {
    database.exec(SCHEMA);
  } finally {
    database.close();
  }
  renameSync(files.making, files.database);
  syncPath(files.dir);
  syncPath(dirname(files.dir));
}

/** @throws StoreError if the file is of another program, or of a newer version of this one. */
export function requireOwn(database: DatabaseSync, path: string): void {
  const id = pragma(database, 'application_id');
  const version = pragma(database, 'user_version');
  if (id !== APPLICATION_ID) {
    const what = id === 0 && pragma(database, 'page_count') === 0 ? 'is empty' : 'belongs to another program';
    throw new StoreError('corrupt', `${path} ${what}: it is not a store of this program`);
  }
  if (typeof version !== 'number' || version > SCHEMA_VERSION) {
    const message = `${path} has schema version ${String(version)}, this program knows up to ${SCHEMA_VERSION}: use a newer one`;
    throw new StoreError('unavailable', message);
  }
}

/** Reads the whole file and returns a description of its damage, if any.
 *  @param depth `full` compares indexes with tables, too */
export function findDamage(database: DatabaseSync, depth: 'quick' | 'full'): string | undefined {
  const finding = pragma(database, depth === 'quick' ? 'quick_check(1)' : 'integrity_check(1)');
  return finding === 'ok' ? undefined : String(finding);
}

function pragma(database: DatabaseSync, name: string): unknown {
  const row = database.prepare(`PRAGMA ${name}`).get();
  return row === undefined ? undefined : Object.values(row)[0];
}

/** A database and the files that SQLite puts beside it. */
export function removeDatabase(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(path + end, { force: true });
}

/** Syncs a file, or the names in a folder, to the disk. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
