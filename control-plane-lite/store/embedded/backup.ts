/** Online backup: copies a store while this process or another one uses it. SQLite copies within one read
 *  transaction: the copy is the state at one revision, and writers continue meanwhile. Blocking; runs in a
 *  thread of its own. */
import { closeSync, existsSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../contract.ts';
import { addKeys } from './backup-keys.ts';
import { damaged, toStoreError } from './failure.ts';
import { FIRST_REVISION, findDamage, removeDatabase, requireOwn, storeFiles, syncPath } from './files.ts';

/** Returns the revision of the copy. The copy contains all secrets: only root may read it.
 *  @param keysDir a folder whose files are included
 *  @throws StoreError, also if the target exists */
export function backUp(dir: string, target: string, keysDir?: string): number {
  const files = storeFiles(dir);
  if (!existsSync(files.database)) throw new StoreError('unavailable', `${dir} contains no store`);
  if (existsSync(target)) throw new StoreError('unavailable', `${target} already exists`);
  const partial = `${target}.partial-${process.pid}`;
  try {
    copy(files.database, partial);
    if (keysDir !== undefined) addKeys(partial, keysDir);
    const revision = inspect(partial, files.database);
    syncPath(partial);
    // Unlike a rename, this doesn't replace a file that appeared meanwhile.
    linkSync(partial, target);
    syncPath(dirname(target));
    return revision;
  } catch (thrown) {
    throw toStoreError(thrown, 'writing', target, dirname(target));
  } finally {
    removeDatabase(partial);
  }
}

function copy(from: string, to: string): void {
  rmSync(to, { force: true });
  closeSync(openSync(to, 'wx', 0o600));
  const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
  try {
    requireOwn(source, from);
    source.prepare('VACUUM INTO ?').run(to);
  } finally {
    source.close();
  }
}

function inspect(path: string, source: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const damage = findDamage(database, 'full');
    if (damage !== undefined) throw new StoreError('corrupt', damaged(source, damage));
    return readRevision(database);
  } finally {
    database.close();
  }
}

/** Returns the newest revision of a store without writers. */
export function readRevision(database: DatabaseSync): number {
  const row = database
    .prepare('SELECT max((SELECT coalesce(max(rev), 0) FROM log), (SELECT max(rev) FROM marks), ?) AS rev')
    .get(FIRST_REVISION);
  const revision = row?.['rev'];
  if (typeof revision !== 'number') throw new StoreError('corrupt', 'the store has no revision');
  return revision;
}
