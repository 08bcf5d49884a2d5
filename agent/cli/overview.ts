/** Renders the list of commands for `nodeagent help`. Pure. */
import type { CommandGroup } from './commands.ts';
import { columns } from './help.ts';

/** One page. */
export function renderOverview(groups: readonly CommandGroup[]): string {
  const width = Math.max(...groups.flatMap(({ commands }) => commands.map(({ name }) => name.length)));
  const lists = groups.map(({ title, commands }) => {
    const rows = commands.map(({ name, summary }) => [name.padEnd(width), summary] as const);
    return `\n${title}:\n${columns(rows)}`;
  });
  return [
    'nodeagent [run] [flags]         run the agent; its flags: nodeagent run --help\n',
    'nodeagent COMMAND [options]     talk to the running agent\n',
    ...lists,
    '\nnodeagent COMMAND --help shows the options and examples of a command.\n',
    'Exit codes: 0 success, 1 failure, 2 usage error, 128+N signal N; exec adds 125, 126 and 127.\n',
  ].join('');
}
