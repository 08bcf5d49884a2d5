/** `control-plane-lite backup FILE` and `restore FILE`: the embedded store as one file. */
import { join } from 'node:path';
import yargs from 'yargs';
import { ConfigError, describeProblem } from '../config/parse.ts';
import { SETTINGS } from '../config/settings.ts';
import { keysDirOf } from '../identity/keys-dir.ts';
import { StoreError } from '../store/contract.ts';
import { backupStore, restoreStore } from '../store/embedded/copies.ts';
import { countEncrypted } from '../store/embedded/encrypted-values.ts';

interface StoreCommand {
  readonly file: string;
  readonly dir: string;
  readonly force: boolean;
  /** Folder of the keys; absent: keys are omitted. */
  readonly keysDir?: string;
}

/** @throws ConfigError */
function parseStoreCommand(command: 'backup' | 'restore', argv: readonly string[]): StoreCommand {
  const problems: string[] = [];
  const parsed = yargs([...argv])
    .option('data-dir', { type: 'string', default: SETTINGS.dataDir.default })
    .option('cert-dir', { type: 'string', default: SETTINGS.certDir.default })
    .option('force', { type: 'boolean', default: false })
    .option('without-keys', { type: 'boolean', default: false })
    .parserConfiguration({ 'camel-case-expansion': false })
    .strictOptions()
    .exitProcess(false)
    .help(false)
    .version(false)
    .fail((message: string, error: Error | undefined) => {
      const text = message === '' && error !== undefined ? error.message : message;
      problems.push(...describeProblem(text, argv, ['data-dir', 'cert-dir', 'force', 'without-keys']));
    })
    .parseSync();
  const [file, ...rest] = parsed._.map(String);
  if (file === undefined || rest.length > 0)
    problems.push(
      `usage: control-plane-lite ${command} FILE [--data-dir D] [--cert-dir D] [--without-keys]${command === 'restore' ? ' [--force]' : ''}`,
    );
  if (parsed.force && command === 'backup') problems.push('--force only applies to restore');
  if (problems.length > 0 || file === undefined) throw new ConfigError(problems);
  const dataDir = parsed['data-dir'];
  return {
    file,
    dir: join(dataDir, 'store'),
    force: parsed.force,
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
  const { file, dir, force, keysDir } = parseStoreCommand(command, argv);
  const keys = keysDir === undefined ? {} : { keysDir };
  try {
    const revision =
      command === 'backup'
        ? await backupStore(dir, file, keys)
        : await restoreStore(file, dir, { force, ...keys });
    print(
      command === 'backup'
        ? `${file} contains revision ${revision}; ${keysDir === undefined ? 'it does not contain the keys of the server' : `it contains the keys of ${keysDir}`}`
        : `restored; the store is at revision ${revision}`,
    );
    if (command === 'backup') print(describeEncryption(file));
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    throw new ConfigError([thrown.message]);
  }
}
