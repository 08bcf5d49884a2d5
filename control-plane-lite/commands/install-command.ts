/** Command lines of `control-plane-lite install` and `uninstall`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { asError } from '#api/kit/errno.ts';
import { findProgramFolder, isPackaged, PackagedError } from '#api/kit/install/program.ts';
import { SystemctlError, systemctl } from '#api/kit/install/systemctl.ts';
import { ConfigError } from '../config/parse.ts';
import { installServer, systemHelper, uninstallServer } from '../install/install.ts';
import { PLANE_PROGRAM } from '../install/paths.ts';

interface InstallArguments {
  readonly root: string;
  readonly start: boolean;
  readonly purge: boolean;
}

/** @throws ConfigError */
export function parseInstallArguments(
  command: 'install' | 'uninstall',
  args: readonly string[],
): InstallArguments {
  try {
    const root = { type: 'string', default: '/' } as const;
    if (command === 'install') {
      const { values } = parseArgs({
        args: [...args],
        allowNegative: true,
        options: { root, start: { type: 'boolean', default: true } },
      });
      return { root: resolve(values.root), start: values.start, purge: false };
    }
    const { values } = parseArgs({
      args: [...args],
      options: { root, purge: { type: 'boolean', default: false } },
    });
    return { root: resolve(values.root), start: false, purge: values.purge };
  } catch (thrown) {
    throw new ConfigError([`${command}: ${asError(thrown).message}`]);
  }
}

/** Returns the exit code. @throws ConfigError */
export async function runInstallCommand(
  command: 'install' | 'uninstall',
  argv: readonly string[],
  say: (line: string) => void,
): Promise<number> {
  const options = parseInstallArguments(command, argv);
  if (options.root === '/' && process.getuid?.() !== 0) throw new ConfigError([`${command} requires root`]);
  const repository = findProgramFolder(import.meta.dirname, PLANE_PROGRAM);
  if (isPackaged(repository, PLANE_PROGRAM))
    throw new ConfigError([new PackagedError(PLANE_PROGRAM).message]);
  const deps = { systemctl, helper: systemHelper, say };
  try {
    await (command === 'install'
      ? installServer(deps, { repository, ...options })
      : uninstallServer(deps, { repository, ...options }));
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof SystemctlError)) throw thrown;
    throw new ConfigError([`${thrown.message}; see: journalctl -u control-plane-lite`]);
  }
}
