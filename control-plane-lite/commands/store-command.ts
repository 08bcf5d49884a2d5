/** `control-plane-lite backup FILE|--directory D` and `restore FILE`: the embedded store as one file. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import yargs from 'yargs';
import { ConfigError, describeProblem } from '../config/parse.ts';
import { SETTINGS } from '../config/settings.ts';
import { keysDirOf } from '../identity/keys-dir.ts';
import { StoreError } from '../store/contract.ts';
import { backupStore, restoreStore } from '../store/embedded/copies.ts';
import { countEncrypted } from '../store/embedded/encrypted-values.ts';
import { backupName, pruneBackups } from './backup-folder.ts';
import { dataOwner, giveTo } from './data-owner.ts';

interface StoreCommand {
  readonly file: string;
  readonly dir: string;
  readonly force: boolean;
  /** Folder of the keys; absent: keys are omitted. */
  readonly keysDir?: string;
  /** The file is one of a folder, of which the newest ones are retained: their number. */
  readonly retain?: number;
}

const OPTIONS = ['data-dir', 'cert-dir', 'force', 'without-keys', 'directory', 'retain'] as const;

const USAGES = {
  backup:
    'usage: control-plane-lite backup FILE|--directory D [--retain N] [--data-dir D] [--cert-dir D] [--without-keys]',
  restore: 'usage: control-plane-lite restore FILE [--data-dir D] [--cert-dir D] [--without-keys] [--force]',
} as const;

const isCount = (text: string): boolean => /^[1-9]\d{0,5}$/.test(text);

/** @throws ConfigError */
export function parseStoreCommand(
  command: 'backup' | 'restore',
  argv: readonly string[],
  nowMs: number,
): StoreCommand {
  const problems: string[] = [];
  const parsed = yargs([...argv])
    .option('data-dir', { type: 'string', default: SETTINGS.dataDir.default })
    .option('cert-dir', { type: 'string', default: SETTINGS.certDir.default })
    .option('directory', { type: 'string' })
    .option('retain', { type: 'string' })
    .option('force', { type: 'boolean', default: false })
    .option('without-keys', { type: 'boolean', default: false })
    .parserConfiguration({ 'camel-case-expansion': false })
    .strictOptions()
    .exitProcess(false)
    .help(false)
    .version(false)
    .fail((message: string, error: Error | undefined) => {
      const text = message === '' && error !== undefined ? error.message : message;
      problems.push(...describeProblem(text, argv, OPTIONS));
    })
    .parseSync();
  const [named, ...rest] = parsed._.map(String);
  const { directory, retain } = parsed;
  const file = directory === undefined ? named : join(directory, backupName(nowMs));
  const isDouble = directory !== undefined && named !== undefined;
  if (file === undefined || rest.length > 0 || isDouble) problems.push(USAGES[command]);
  if (parsed.force && command === 'backup') problems.push('--force only applies to restore');
  if (directory !== undefined && command === 'restore') problems.push('--directory only applies to backup');
  if (retain !== undefined && directory === undefined) problems.push('--retain requires --directory');
  if (retain !== undefined && !isCount(retain))
    problems.push(`--retain: ${JSON.stringify(retain)} is not a number of backups; use 1 or more`);
  if (problems.length > 0 || file === undefined) throw new ConfigError(problems);
  const dataDir = parsed['data-dir'];
  return {
    file,
    dir: join(dataDir, 'store'),
    force: parsed.force,
    ...(retain === undefined ? {} : { retain: Number(retain) }),
    ...(parsed['without-keys'] ? {} : { keysDir: keysDirOf({ dataDir, certDir: parsed['cert-dir'] }) }),
  };
}

/** Whether the values of a backup are encrypted, and with which keys, which a backup never contains. */
function describeEncryption(file: string): string {
  const found = countEncrypted(file);
  if (found.length === 0) return 'none of its values are encrypted';
  const counts = found.map(({ prefix, count }) => `${count} with ${prefix}`);
  return `encrypted values, which need the keys of --encryption-provider-config: ${counts.join(', ')}; others are not encrypted`;
}

/** Returns the exit code. @throws ConfigError */
export async function runStoreCommand(
  command: 'backup' | 'restore',
  argv: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const { file, dir, force, keysDir, retain } = parseStoreCommand(command, argv, Date.now());
  const keys = keysDir === undefined ? {} : { keysDir };
  try {
    if (command === 'restore') {
      const owner = await dataOwner(dirname(dir));
      const revision = await restoreStore(file, dir, { force, ...keys });
      if (owner !== undefined) await giveRestored(owner, [dir, ...(keysDir === undefined ? [] : [keysDir])]);
      print(`restored; the store is at revision ${revision}`);
      return 0;
    }
    const revision = await backupStore(dir, file, keys);
    const content =
      keysDir === undefined
        ? 'it does not contain the keys of the server'
        : `it contains the keys of ${keysDir}`;
    print(`${file} contains revision ${revision}; ${content}`);
    print(describeEncryption(file));
    const removed = retain === undefined ? [] : await pruneBackups(dirname(file), retain);
    for (const name of removed) print(`removed ${name}: ${retain} are retained`);
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    throw new ConfigError([thrown.message]);
  }
}

async function giveRestored(owner: Parameters<typeof giveTo>[0], folders: readonly string[]): Promise<void> {
  // A backup without keys creates no folder for them.
  for (const folder of folders) if (existsSync(folder)) await giveTo(owner, folder);
}
