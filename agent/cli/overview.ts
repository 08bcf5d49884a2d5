/** The list of commands, as `nodeagent help` prints it. Pure. */
import type { CommandEntry } from './commands.ts';
import { columns } from './help.ts';

export function renderOverview(commands: readonly CommandEntry[]): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const);
  return [
    'nodeagent [run] [flags]         runs the agent; its flags: nodeagent run --help\n',
    'nodeagent COMMAND [options]     talks to the agent that runs\n',
    `\nCommands:\n${columns(rows)}`,
    '\nnodeagent COMMAND --help shows the options and examples of a command.\n',
  ].join('');
}
