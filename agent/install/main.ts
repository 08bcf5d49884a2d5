/** Command lines of `nodeagent install` and `nodeagent uninstall`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { findProgramFolder, isPackaged, PackagedError } from '#api/kit/install/program.ts';
import { systemctl } from '#api/kit/install/systemctl.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type InstallDeps, install, uninstall } from './install.ts';
import { AGENT_PROGRAM } from './paths.ts';

const INSTALL_HELP = `nodeagent install [options]     installs nodeagent as a systemd service and starts it
  --root=DIR                         install the files below DIR and start nothing
  --container-runtime-endpoint=unix:///…
                                     use this runtime instead of a private containerd
  --no-start                         install without starting

nodeagent uninstall [options]   stops the agent and its pods and removes the installed files
  --root=DIR                         remove the files below DIR
  --purge                            also remove configuration, manifests, images and data
`;

export interface InstallIo {
  readonly log: Logger;
  readonly say: (text: string) => void;
}

/** The program's own folder: a checkout, or the installed program, whose bundle lies one level below. */
const REPOSITORY = findProgramFolder(import.meta.dirname, AGENT_PROGRAM);

const COMMON_OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  root: { type: 'string', default: '/' },
} as const;

/** Runs the command with the arguments after its name.
 *  @throws TypeError for an unknown option, and errors of the command */
export async function runInstallCommand(
  command: 'install' | 'uninstall',
  argv: readonly string[],
  io: InstallIo,
): Promise<void> {
  if (isPackaged(REPOSITORY, AGENT_PROGRAM) && !isHelp(argv)) throw new PackagedError(AGENT_PROGRAM);
  const deps: InstallDeps = { systemctl, ...io };
  await (command === 'install' ? runInstall(deps, [...argv]) : runUninstall(deps, [...argv]));
}

const isHelp = (argv: readonly string[]): boolean => argv.includes('--help') || argv.includes('-h');

async function runInstall(deps: InstallDeps, args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    allowNegative: true,
    options: {
      ...COMMON_OPTIONS,
      'container-runtime-endpoint': { type: 'string' },
      start: { type: 'boolean', default: true },
    },
  });
  if (values.help === true) return deps.say(INSTALL_HELP);
  await install(deps, {
    repository: REPOSITORY,
    root: resolve(values.root),
    endpoint: values['container-runtime-endpoint'],
    start: values.start,
  });
}

async function runUninstall(deps: InstallDeps, args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { ...COMMON_OPTIONS, purge: { type: 'boolean', default: false } },
  });
  if (values.help === true) return deps.say(INSTALL_HELP);
  await uninstall(deps, { repository: REPOSITORY, root: resolve(values.root), purge: values.purge });
}
