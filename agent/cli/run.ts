/** `nodeagent` and `nodeagent run`: the agent itself. */

import { readFile } from 'node:fs/promises';
import { formatConfigError } from '../config/errors.ts';
import { loadConfig } from '../config/load.ts';
import { versionText } from './views/version-text.ts';

/** Runs the agent with its flags until a stop signal. @returns the exit code */
export async function runDaemon(argv: readonly string[]): Promise<number> {
  const flags = argv[0] === 'run' ? argv.slice(1) : argv;
  const loaded = await loadConfig(flags, { readFile, cwd: process.cwd() });
  switch (loaded.kind) {
    case 'help':
      await printHelp(argv[0] === 'run' ? loaded.text : undefined);
      return 0;
    case 'version':
      process.stdout.write(versionText(loaded.raw));
      return 0;
    case 'error':
      for (const warning of loaded.warnings) process.stderr.write(`nodeagent: ${warning}\n`);
      for (const error of loaded.errors) process.stderr.write(`nodeagent: ${formatConfigError(error)}\n`);
      return 1;
    case 'ok': {
      const { runAgent } = await import('../main.ts');
      const { config, origins, warnings } = loaded;
      return runAgent(config, { origins, warnings });
    }
    default:
      return loaded satisfies never;
  }
}

/** Prints the flags of the agent, or the commands without them: flags fill many pages. */
async function printHelp(flags: string | undefined): Promise<void> {
  if (flags !== undefined) {
    process.stdout.write(`${flags}\n`);
    return;
  }
  const [{ COMMAND_GROUPS }, { renderOverview }] = await Promise.all([
    import('./commands.ts'),
    import('./overview.ts'),
  ]);
  process.stdout.write(renderOverview(COMMAND_GROUPS));
}
