/** From the command line to the command, and from its failure to a message and an exit code. */
import { asError } from '#api/kit/clock.ts';
import { AgentUnreachableError } from './api-client.ts';
import { COMMANDS, type CommandEntry } from './commands.ts';
import type { CliContext } from './context.ts';
import { errorText, InterruptedError, UsageError } from './errors.ts';
import { renderOverview } from './overview.ts';
import { printable } from './table.ts';

/** Exit codes beside that of a command run by `exec`. */
const FAILED = 1;
const MISUSED = 2;
/** As if SIGPIPE had ended the program. */
const NOBODY_READS = 141;

/** Whether the arguments start the agent rather than talk to it. */
export const isDaemonStart = ([first]: readonly string[]): boolean =>
  first === undefined || first === 'run' || first.startsWith('-');

/** Runs one command; its failure is told on standard error. @returns the exit code */
export async function runCommand(argv: readonly string[], context: CliContext): Promise<number> {
  const [name = 'help', ...rest] = argv;
  try {
    return await dispatch(name, rest, context);
  } catch (thrown) {
    return await tellFailure(name, asError(thrown), context);
  }
}

async function dispatch(name: string, argv: readonly string[], context: CliContext): Promise<number> {
  const [topic] = argv;
  if (name === 'help' && topic !== undefined) return dispatch(topic, ['--help'], context);
  if (name === 'help') {
    await context.out.write(renderOverview(COMMANDS));
    return 0;
  }
  const { command } = await (await findCommand(name)).load();
  return command.run(argv, context);
}

async function findCommand(name: string): Promise<CommandEntry> {
  const found = COMMANDS.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const { suggestion } = await import('#api/kit/suggest.ts');
  const names = COMMANDS.map((entry) => entry.name);
  throw new UsageError(`there is no command ${JSON.stringify(name)}${suggestion(name, names)}`);
}

async function tellFailure(name: string, error: Error, { err, signal }: CliContext): Promise<number> {
  const interrupted: unknown = signal.aborted ? signal.reason : error;
  if (interrupted instanceof InterruptedError) return interrupted.exitCode;
  if ('code' in error && error.code === 'EPIPE') return NOBODY_READS;
  const isUsage = error instanceof UsageError;
  const known = COMMANDS.some((entry) => entry.name === name);
  const pointer = isUsage ? `see: nodeagent ${known ? `${name} --help` : 'help'}\n` : '';
  // Its message says what to do; the system's own words for it would only be in the way.
  const text = error instanceof AgentUnreachableError ? error.message : errorText(error);
  // A container may have had its say in the text.
  await err.write(`nodeagent: ${text.split('\n').map(printable).join('\n')}\n${pointer}`);
  return isUsage ? MISUSED : FAILED;
}
