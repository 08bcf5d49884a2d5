/** `nodeagent` and `nodeagent run`: the agent itself. */
import { readFile } from 'node:fs/promises';
import { formatConfigError } from '../config/errors.ts';
import { loadConfig } from '../config/load.ts';
import { AGENT_VERSION } from '../version.ts';

/** Runs the agent with its flags until it is told to end. @returns the exit code */
export async function runDaemon(argv: readonly string[]): Promise<number> {
  const flags = argv[0] === 'run' ? argv.slice(1) : argv;
  const loaded = await loadConfig(flags, { readFile, cwd: process.cwd() });
  switch (loaded.kind) {
    case 'help':
      await printHelp(loaded.text);
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

async function printHelp(flags: string): Promise<void> {
  const [{ COMMANDS }, { renderOverview }] = await Promise.all([
    import('./commands.ts'),
    import('./overview.ts'),
  ]);
  process.stdout.write(`${renderOverview(COMMANDS)}\n${flags}\n`);
}

/** `nodeagent 0.1.0`; raw with what it runs on, for programs. */
export function versionText(raw: boolean): string {
  if (!raw) return `nodeagent ${AGENT_VERSION}\n`;
  const { arch, platform, version } = process;
  return `${JSON.stringify({ version: AGENT_VERSION, node: version, platform, arch })}\n`;
}
