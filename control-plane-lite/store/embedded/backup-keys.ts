/** CA and keys of a server in a backup of its store: without them, a server restored on another machine would
 *  reject every node and every token. They are a table of the backup's database, which the store itself never
 *  has. Blocking; runs in a thread of its own. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../contract.ts';
import { syncPath } from './files.ts';

export interface KeyFile {
  readonly name: string;
  readonly content: Uint8Array;
}

const TABLE = 'key_files';
/** Names of files that a server writes: no path that leads out of the folder. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Adds the files of the folder to a backup under construction. */
export function addKeys(backup: string, keysDir: string): void {
  if (!existsSync(keysDir)) return;
  const names = readdirSync(keysDir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && NAME.test(entry.name) && !entry.name.endsWith('.new'))
    .map(({ name }) => name);
  const database = new DatabaseSync(backup);
  try {
    database.exec(`CREATE TABLE ${TABLE} (name TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT`);
    const insert = database.prepare(`INSERT INTO ${TABLE} VALUES (?, ?)`);
    for (const name of names) insert.run(name, readFileSync(join(keysDir, name)));
  } finally {
    database.close();
  }
}

const hasTable = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(TABLE) !== undefined;

/** Removes the keys from a copy of a backup, and returns them. */
export function takeKeys(database: DatabaseSync): readonly KeyFile[] {
  if (!hasTable(database)) return [];
  const keys = database.prepare(`SELECT name, content FROM ${TABLE}`).all();
  database.exec(`PRAGMA secure_delete = ON; DROP TABLE ${TABLE}`);
  return keys.map(({ name, content }) => {
    if (typeof name !== 'string' || !NAME.test(name) || !(content instanceof Uint8Array)) {
      throw new StoreError('corrupt', `the backup contains an unexpected key file: ${String(name)}`);
    }
    return { name, content };
  });
}

function hasKeys(backup: string): boolean {
  const database = new DatabaseSync(backup, { readOnly: true });
  try {
    return hasTable(database);
  } finally {
    database.close();
  }
}

const isEmptyOrAbsent = (dir: string): boolean => !existsSync(dir) || readdirSync(dir).length === 0;

/** @throws StoreError if existing keys would have to be replaced */
export function requireRoomForKeys(backup: string, keysDir: string, force: boolean): void {
  if (force || isEmptyOrAbsent(keysDir) || !hasKeys(backup)) return;
  throw new StoreError(
    'unavailable',
    `${keysDir} already contains keys; use --force to replace them or --without-keys to leave them unchanged`,
  );
}

/** Writes the keys; existing ones are retained as `pki.replaced`. */
export function writeKeys(keysDir: string, keys: readonly KeyFile[]): void {
  if (keys.length === 0) return;
  const incoming = `${keysDir}.incoming`;
  rmSync(incoming, { recursive: true, force: true });
  mkdirSync(incoming, { recursive: true, mode: 0o700 });
  chmodSync(incoming, 0o700);
  for (const { name, content } of keys) {
    writeFileSync(join(incoming, name), content, { mode: 0o600, flush: true });
  }
  syncPath(incoming);
  if (!isEmptyOrAbsent(keysDir)) {
    rmSync(`${keysDir}.replaced`, { recursive: true, force: true });
    renameSync(keysDir, `${keysDir}.replaced`);
  } else rmSync(keysDir, { recursive: true, force: true });
  renameSync(incoming, keysDir);
  syncPath(dirname(keysDir));
}
