/** Backup and restore of an embedded store, for the commands. */
import { resolve } from 'node:path';
import { startThread } from '../thread/start.ts';
import { type Completed, type Task, threadOf } from './task.ts';

/** Writes the state of the store to a new file without blocking the processes that use it. Returns its
 *  revision. The file contains every secret of the store; only its owner may read it.
 *  @param dir the store's folder
 *  @param options keysDir: a folder whose files are included
 *  @throws StoreError, also if the target exists or the store is damaged */
export function backupStore(
  dir: string,
  target: string,
  { keysDir }: { readonly keysDir?: string } = {},
): Promise<number> {
  return perform({
    task: 'backup',
    dir,
    target: resolve(target),
    ...(keysDir === undefined ? {} : { keysDir }),
  });
}

/** Restores a backup into the store's folder. The previous store is retained as `store.db.replaced`. Returns
 *  the new revision, which is far ahead of every earlier one: clients that knew a later state than the
 *  backup's relist.
 *  @param options force: replace an existing store; keysDir: target of the keys in the backup
 *  @throws StoreError if the backup is damaged or of another program, or the store is in use or exists
 *  already */
export function restoreStore(
  backup: string,
  dir: string,
  { force = false, keysDir }: { readonly force?: boolean; readonly keysDir?: string } = {},
): Promise<number> {
  return perform({
    task: 'restore',
    file: resolve(backup),
    dir,
    force,
    ...(keysDir === undefined ? {} : { keysDir }),
  });
}

async function perform(task: Task): Promise<number> {
  const thread = startThread<Completed, Completed, never>(threadOf(task), {
    onMessage: () => undefined,
    onEnd: () => undefined,
  });
  const { revision } = await thread.ready;
  await thread.end();
  return revision;
}
