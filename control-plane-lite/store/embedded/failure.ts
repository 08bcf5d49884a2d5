/** Maps SQLite errors to store errors. Result codes: https://sqlite.org/rescode.html */

import { Buffer } from 'node:buffer';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { StoreError, type StoreErrorReason } from '../contract.ts';

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_TOOBIG = 18;
const SQLITE_NOTADB = 26;

/** Returns the primary result code, if SQLite threw this. */
function sqliteCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown)) return undefined;
  return typeof thrown.errcode === 'number' ? thrown.errcode & 0xff : undefined;
}

export function isBusy(thrown: unknown): boolean {
  return sqliteCode(thrown) === SQLITE_BUSY;
}

/** @param path the database's, for the message; its folder is inspected if SQLite only reports a disk
 *  failure. */
export function toStoreError(thrown: unknown, action: string, path: string, dir: string): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const reason = reasonOf(thrown, dir);
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  const message =
    reason === 'corrupt' ? damaged(path, detail) : `${action} ${path}: ${WORDS[reason] ?? detail}`;
  return new StoreError(reason, message, { cause: thrown });
}

/** Advises how to replace a damaged file. */
export function damaged(path: string, detail: string): string {
  return (
    `${path} is damaged (${detail}): put a backup in its place with the server stopped ` +
    '(control-plane-lite restore --force BACKUP), which retains the damaged file as store.db.replaced'
  );
}

const WORDS: Partial<Record<StoreErrorReason, string>> = {
  noSpace: 'no space is left on the disk',
  readOnly: 'the disk is read-only',
};

function reasonOf(thrown: unknown, dir: string): StoreErrorReason {
  const code: number = sqliteCode(thrown) ?? 0;
  switch (code) {
    case SQLITE_FULL:
      return 'noSpace';
    case SQLITE_READONLY:
      return 'readOnly';
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return 'corrupt';
    case SQLITE_TOOBIG:
      return 'tooLarge';
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return diskState(dir) ?? 'unavailable';
    default:
      return systemReason(thrown);
  }
}

/** SQLite only passes on ENOSPC; a quota, or a disk that turned read-only, is an I/O error. So writing a
 *  small file is tried. */
function diskState(dir: string): StoreErrorReason | undefined {
  const path = join(dir, 'store.probe');
  try {
    writeFileSync(path, Buffer.alloc(4096), { flush: true, mode: 0o600 });
    return undefined;
  } catch (thrown) {
    const reason = systemReason(thrown);
    return reason === 'unavailable' ? undefined : reason;
  } finally {
    tryRemove(path);
  }
}

function tryRemove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // On an unwritable disk the file was never created.
  }
}

function systemReason(thrown: unknown): StoreErrorReason {
  if (hasCode(thrown, 'ENOSPC', 'EDQUOT')) return 'noSpace';
  return hasCode(thrown, 'EROFS') ? 'readOnly' : 'unavailable';
}
