/** `control-plane-lite backup FILE` and `restore FILE`: the embedded store as one file. */
import { join } from 'node:path';
import yargs from 'yargs';
import { ConfigError } from './config/parse.ts';
import { SETTINGS } from './config/settings.ts';
import { StoreError } from './store/contract.ts';
import { backupStore, restoreStore } from './store/embedded/copies.ts';

interface StoreCommand {
  readonly file: string;
  readonly dir: string;
  readonly force: boolean;
}

/** @throws ConfigError */
export function parseStoreCommand(command: 'backup' | 'restore', argv: readonly string[]): StoreCommand {
  const problems: string[] = [];
  const parsed = yargs([...argv])
    .option('data-dir', { type: 'string', default: SETTINGS.dataDir.default })
    .option('force', { type: 'boolean', default: false })
    .parserConfiguration({ 'camel-case-expansion': false })
    .strictOptions()
    .exitProcess(false)
    .help(false)
    .version(false)
    .fail((message: string, error: Error | undefined) => {
      problems.push(message === '' && error !== undefined ? error.message : message);
    })
    .parseSync();
  const [file, ...rest] = parsed._.map(String);
  if (file === undefined || rest.length > 0)
    problems.push(`right is: control-plane-lite ${command} FILE [--data-dir D]`);
  if (parsed.force && command === 'backup')
    problems.push('--force is for restore: a backup replaces nothing');
  if (problems.length > 0 || file === undefined) throw new ConfigError(problems);
  return { file, dir: join(parsed['data-dir'], 'store'), force: parsed.force };
}

/** Returns the exit code. @throws ConfigError */
export async function runStoreCommand(
  command: 'backup' | 'restore',
  argv: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const { file, dir, force } = parseStoreCommand(command, argv);
  try {
    const revision =
      command === 'backup' ? await backupStore(dir, file) : await restoreStore(file, dir, { force });
    print(
      command === 'backup'
        ? `${file} shows revision ${revision}`
        : `restored; the store is at revision ${revision}`,
    );
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    throw new ConfigError([thrown.message]);
  }
}
