/** Renders the list of commands for `nodeagent help`. Pure. */
import type { CommandEntry } from './command.ts';
import { columns } from './help.ts';

export function renderOverview(commands: readonly CommandEntry[]): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const);
  return [
    'nodeagent [run] [flags]         runs the agent; for its flags see nodeagent run --help\n',
    'nodeagent COMMAND [options]     talks to the running agent\n',
    `\nCommands:\n${columns(rows)}`,
    '\nnodeagent COMMAND --help shows the options and examples of a command.\n',
  ].join('');
}
