/** Definition of a command: options, help and implementation. */

import { type Arguments, type OptionTable, parseArguments } from './args/arguments.ts';
import type { LocalApi } from './client/api-client.ts';
import type { CliContext } from './context.ts';
import { type HelpFacts, renderHelp } from './help.ts';

export interface CommandSpec<Table extends OptionTable> {
  readonly name: string;
  /** One phrase for the list of commands. */
  readonly summary: string;
  /** Argument synopsis: `[options] POD`. */
  readonly usage: readonly string[];
  readonly options: Table;
  /** Appended to the error for an unknown option: the most common intention. */
  readonly hint?: string;
  /** Complete command lines without the program name, each with a description. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  /** Runs the command and returns the exit code. @throws UsageError, CommandError, ApiError,
   *  AgentUnreachableError */
  readonly run: (args: Arguments<Extract<keyof Table, string>>, context: CommandContext) => Promise<number>;
}

export interface CommandContext extends CliContext {
  readonly api: LocalApi;
}

export interface Command {
  readonly name: string;
  /** Options, usage and examples, for help, completion and the reference. */
  readonly help: HelpFacts;
  run(argv: readonly string[], context: CliContext): Promise<number>;
}

/** Default socket of the agent: the default of the setting `socketPath`. */
const DEFAULT_SOCKET = '/run/nodeagent/nodeagent.sock';

const COMMON_OPTIONS = {
  socket: {
    type: 'string',
    value: 'PATH',
    help: `the agent's socket (or NODEAGENT_SOCKET; ${DEFAULT_SOCKET})`,
  },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
} as const satisfies OptionTable;

export function defineCommand<const Table extends OptionTable>(spec: CommandSpec<Table>): Command {
  const options = { ...spec.options, ...COMMON_OPTIONS };
  const help: HelpFacts = { ...spec, options };
  return {
    name: spec.name,
    help,
    async run(argv, context) {
      const args = parseArguments(argv, options, spec.hint);
      if (args.has('help')) {
        await context.out.write(renderHelp(help));
        return 0;
      }
      return spec.run(args, { ...context, api: context.connect(socketOf(args, context)) });
    },
  };
}

/** Returns the socket path from the option, the environment or the default. */
export function socketOf(args: Arguments<'socket'>, { env }: Pick<CliContext, 'env'>): string {
  const named = args.text('socket') ?? env['NODEAGENT_SOCKET'] ?? '';
  return named === '' ? DEFAULT_SOCKET : named;
}

/** A command in the list of commands; its module is loaded when it is used. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}
