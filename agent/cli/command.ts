/** A command of the command line: its options, its help, and what it does. */

import type { LocalApi } from './api-client.ts';
import { type Arguments, type OptionTable, parseArguments } from './arguments.ts';
import type { CliContext } from './context.ts';
import { renderHelp } from './help.ts';

export interface CommandSpec<Table extends OptionTable> {
  readonly name: string;
  /** One phrase, as in the list of commands. */
  readonly summary: string;
  /** Arguments in short: `[options] POD`. */
  readonly usage: readonly string[];
  readonly options: Table;
  /** Told with an unknown option: what people most often meant. */
  readonly hint?: string;
  /** Command lines that work as they stand, without the program's name, each with what it does. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  /** Does it and gives the exit code. @throws UsageError, CommandError, ApiError, AgentUnreachableError */
  readonly run: (args: Arguments<Extract<keyof Table, string>>, context: CommandContext) => Promise<number>;
}

export interface CommandContext extends CliContext {
  readonly api: LocalApi;
}

export interface Command {
  readonly name: string;
  run(argv: readonly string[], context: CliContext): Promise<number>;
}

/** Where the agent listens unless it is told otherwise: the default of the setting `socketPath`. */
export const DEFAULT_SOCKET = '/run/nodeagent/nodeagent.sock';

const COMMON_OPTIONS = {
  socket: {
    type: 'string',
    value: 'PATH',
    help: `the agent's socket (or NODEAGENT_SOCKET; ${DEFAULT_SOCKET})`,
  },
  help: { type: 'boolean', short: 'h', help: 'show this' },
} as const satisfies OptionTable;

export function defineCommand<const Table extends OptionTable>(spec: CommandSpec<Table>): Command {
  const options = { ...spec.options, ...COMMON_OPTIONS };
  return {
    name: spec.name,
    async run(argv, context) {
      const args = parseArguments(argv, options, spec.hint);
      if (args.has('help')) {
        await context.out.write(renderHelp({ ...spec, options }));
        return 0;
      }
      return spec.run(args, { ...context, api: context.connect(socketOf(args, context)) });
    },
  };
}

/** The socket to talk to: the option, the environment, or the usual one. */
export function socketOf(args: Arguments<'socket'>, { env }: Pick<CliContext, 'env'>): string {
  const named = args.text('socket') ?? env['NODEAGENT_SOCKET'] ?? '';
  return named === '' ? DEFAULT_SOCKET : named;
}
