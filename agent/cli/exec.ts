/** `nodeagent exec` */
import { RemoteCommandError, StreamingError } from '#cri/streaming/errors.ts';
import { execStream } from '#cri/streaming/remote-command.ts';
import { fetchPods, isPlainObject, textMember } from './answers.ts';
import { ApiError } from './api-client.ts';
import type { Arguments } from './arguments.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { findPod, parsePodName } from './find-pod.ts';

const options = {
  stdin: { type: 'boolean', short: 'i', help: 'pass standard input on' },
  tty: { type: 'boolean', short: 't', help: 'give the command a terminal' },
  container: { type: 'string', short: 'c', value: 'NAME', help: 'one of the pod’s containers (its first)' },
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'the pod’s namespace (default)' },
} as const;

export const command: Command = defineCommand({
  name: 'exec',
  summary: 'Runs a command in a container and exits with its exit code.',
  usage: ['[options] POD -- COMMAND [ARGUMENT…]'],
  options,
  hint: 'the command and its own options go behind --',
  examples: [
    ['exec web -- ls -l /', 'what a command prints'],
    ['exec -it web -- sh', 'a shell'],
    ['exec -i web -c proxy -- sh -c "cat > /tmp/x" < x', 'a file into another container'],
  ],
  async run(args, context) {
    const { api, err, input, signal } = context;
    const { pod: text, argv } = execArguments(args);
    const stdin = args.has('stdin');
    // A terminal at the other end needs one at this end, but for a command that reads nothing.
    const tty = args.has('tty') && (input.isTerminal || !stdin);
    if (args.has('tty') && !tty)
      await err.write('standard input is no terminal: the command gets none either\n');
    const pod = findPod(await fetchPods(api), parsePodName(text, args.text('namespace')));
    const answer = await api.json({
      method: 'POST',
      path: ['exec', pod.metadata?.namespace ?? '', pod.metadata?.name ?? ''],
      query: { container: args.text('container'), command: argv, stdin: String(stdin), tty: String(tty) },
      signal,
    });
    const url = isPlainObject(answer) ? textMember(answer, 'url') : '';
    if (url === '')
      throw new ApiError(200, 'BadAnswer', 'the agent gave no address for the command’s streams');
    return runSession({ url, stdin, tty }, context);
  },
});

/** @throws UsageError */
function execArguments({ positionals, rest }: Arguments): {
  readonly pod: string;
  readonly argv: readonly string[];
} {
  const [pod, ...words] = positionals;
  const argv = rest === undefined ? words : rest;
  if (pod === undefined)
    throw new UsageError('exec needs a POD and a command: nodeagent exec POD -- COMMAND');
  if (rest !== undefined && words.length > 0) throw new UsageError('the command goes behind --');
  if (argv.length === 0) throw new UsageError('exec needs a command: nodeagent exec POD -- COMMAND');
  return { pod, argv };
}

interface Session {
  readonly url: string;
  readonly stdin: boolean;
  readonly tty: boolean;
}

async function runSession(
  { url, stdin, tty }: Session,
  { out, err, input, signal }: CommandContext,
): Promise<number> {
  using terminal = tty && stdin ? input.takeTerminal() : undefined;
  try {
    const { exitCode } = await execStream(url, {
      stdin: stdin ? input.read() : undefined,
      stdout: (chunk) => out.write(chunk),
      stderr: tty ? undefined : (chunk) => err.write(chunk),
      tty,
      resize: terminal?.resize,
      signal,
    });
    return exitCode;
  } catch (cause) {
    // Anything else, such as an output that nobody reads any more, is not the runtime's.
    const isRuntime = cause instanceof StreamingError || cause instanceof RemoteCommandError;
    throw isRuntime ? new CommandError('the command could not be run', { cause }) : cause;
  } finally {
    input.close();
  }
}
