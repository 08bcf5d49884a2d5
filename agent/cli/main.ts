/** Dispatches the command line to a command and maps its failure to a message and an exit code. */

import { asError, hasCode } from '#api/kit/errno.ts';
import { AgentUnreachableError } from './client/api-client.ts';
import { type CommandEntry } from './command.ts';
import { COMMAND_GROUPS, COMMANDS } from './commands.ts';
import type { CliContext } from './context.ts';
import { ExitError, errorText, InterruptedError, UsageError } from './errors.ts';
import { renderOverview } from './overview.ts';
import { printable } from './views/table.ts';

/** Exit codes besides that of a command run by `exec`. */
const FAILED = 1;
const MISUSED = 2;
/** The exit code after SIGPIPE. */
const NOBODY_READS = 141;

/** Reports whether the arguments start the agent rather than run a command. */
export const isDaemonStart = ([first]: readonly string[]): boolean =>
  first === undefined || first === 'run' || first.startsWith('-');

/** Runs one command and reports its failure on standard error. @returns the exit code */
export async function runCommand(argv: readonly string[], context: CliContext): Promise<number> {
  const [name = 'help', ...rest] = argv;
  try {
    return await dispatch(name, rest, context);
  } catch (thrown) {
    return await reportFailure(name, asError(thrown), context);
  }
}

async function dispatch(name: string, argv: readonly string[], context: CliContext): Promise<number> {
  const [topic] = argv;
  if (name === 'help' && topic !== undefined) return dispatch(topic, ['--help'], context);
  if (name === 'help') {
    await context.out.write(renderOverview(COMMAND_GROUPS));
    return 0;
  }
  const { command } = await (await findCommand(name)).load();
  return command.run(argv, context);
}

/** Commands for scripts, which the help does not list. */
const HIDDEN: readonly CommandEntry[] = [
  { name: 'complete', summary: 'complete a command line', load: () => import('./complete.ts') },
];

async function findCommand(name: string): Promise<CommandEntry> {
  const found = [...COMMANDS, ...HIDDEN].find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const { suggestion } = await import('#api/kit/text/suggest.ts');
  const names = COMMANDS.map((entry) => entry.name);
  throw new UsageError(`unknown command ${JSON.stringify(name)}${suggestion(name, names)}`);
}

async function reportFailure(name: string, error: Error, { err, signal }: CliContext): Promise<number> {
  const interrupted: unknown = signal.aborted ? signal.reason : error;
  if (interrupted instanceof InterruptedError) return interrupted.exitCode;
  if (hasCode(error, 'EPIPE')) return NOBODY_READS;
  const isUsage = error instanceof UsageError;
  const known = COMMANDS.some((entry) => entry.name === name);
  const pointer = isUsage ? `see: nodeagent ${known ? `${name} --help` : 'help'}\n` : '';
  // The message says what to do; the error text of the system would only distract.
  const shown = error instanceof ExitError && error.cause instanceof Error ? error.cause : error;
  const text = shown instanceof AgentUnreachableError ? shown.message : errorText(shown);
  // The text may contain output of a container.
  await err.write(`nodeagent: ${text.split('\n').map(printable).join('\n')}\n${pointer}`);
  if (error instanceof ExitError) return error.exitCode;
  return isUsage ? MISUSED : FAILED;
}
