/** Help texts of the programs, as their users see them. */
import { createLocalApi } from '#agent/cli/client/api-client.ts';
import { COMMANDS } from '#agent/cli/commands.ts';
import type { CliContext } from '#agent/cli/context.ts';
import { runCommand } from '#agent/cli/main.ts';
import { loadConfig } from '#agent/config/load.ts';
import { systemClock } from '#api/kit/clock.ts';
import { commandHelp, COMMANDS as SERVER_COMMANDS } from '#plane/commands/help.ts';
import { createParser } from '#plane/config/parse.ts';
import type { CommandText, ProgramText } from './help-texts.ts';
import type { PackagedProgram } from './programs.ts';

/** A help was not printed. */
class HelpError extends Error {
  override readonly name = 'HelpError';
}

/** A context that collects output; commands that only print their help use nothing else. */
function collecting(lines: string[]): CliContext {
  const write = async (chunk: string | Uint8Array): Promise<void> => void lines.push(String(chunk));
  const unused = (): never => {
    throw new HelpError('help must not use this');
  };
  return {
    out: { write },
    err: { write },
    input: { isTerminal: false, read: unused, takeTerminal: unused, close: () => undefined },
    env: {},
    clock: systemClock,
    signal: new AbortController().signal,
    cwd: '/',
    connect: createLocalApi,
  };
}

async function agentCommand(name: string, summary: string): Promise<CommandText> {
  const lines: string[] = [];
  const code = await runCommand([name, '--help'], collecting(lines));
  if (code !== 0) throw new HelpError(`nodeagent ${name} --help failed: ${lines.join('')}`);
  return { name, summary, help: lines.join('') };
}

async function agentFlags(): Promise<string> {
  const unused = (): never => {
    throw new HelpError('help must not read files');
  };
  const loaded = await loadConfig(['--help'], { readFile: unused, cwd: '/' });
  if (loaded.kind !== 'help') throw new HelpError('nodeagent run --help failed');
  return loaded.text;
}

function serverCommand(name: string): CommandText {
  const help = commandHelp(name) ?? '';
  const about = SERVER_COMMANDS[name]?.about ?? '';
  return { name, summary: about.split('. ')[0]?.replace(/\.$/, '') ?? '', help };
}

export async function programText(program: PackagedProgram, version: string): Promise<ProgramText> {
  const { summary, files, spec } = program;
  const isAgent = spec.name === 'nodeagent';
  return {
    name: spec.name,
    summary,
    version,
    files,
    help: isAgent ? await agentFlags() : await createParser([]).getHelp(),
    commands: isAgent
      ? await Promise.all(COMMANDS.map((entry) => agentCommand(entry.name, entry.summary)))
      : Object.keys(SERVER_COMMANDS).map(serverCommand),
  };
}
