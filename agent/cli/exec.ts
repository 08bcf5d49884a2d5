/** `nodeagent exec` */
import { fetchPods } from './answers.ts';
import type { Arguments } from './arguments.ts';
import { type Command, defineCommand } from './command.ts';
import { UsageError } from './errors.ts';
import { decideExecFailure } from './exec-failure.ts';
import { findPod, parsePodName } from './find-pod.ts';
import { chooseStreams, fetchSessionUrl, runSession } from './session.ts';
import { printable } from './table.ts';

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
    const { api, signal } = context;
    const { pod: text, argv } = execArguments(args);
    const streams = await chooseStreams({ stdin: args.has('stdin'), tty: args.has('tty') }, context);
    const pod = findPod(await fetchPods(api), parsePodName(text, args.text('namespace')));
    const { stdin, tty } = streams;
    const url = await fetchSessionUrl(api, {
      path: ['exec', pod.metadata?.namespace ?? '', pod.metadata?.name ?? ''],
      query: { container: args.text('container'), command: argv, stdin: String(stdin), tty: String(tty) },
      signal,
    });
    const session = { url, ...streams, joins: false, failure: 'the command could not be run' };
    try {
      const { exitCode } = await runSession(session, context);
      return exitCode;
    } catch (thrown) {
      const failure = decideExecFailure(messagesOf(thrown));
      if (failure === undefined) throw thrown;
      await context.err.write(`nodeagent: ${printable(failure.message)}\n`);
      return failure.exitCode;
    }
  },
});

function messagesOf(thrown: unknown): string {
  const messages: string[] = [];
  for (let at = thrown; at instanceof Error && messages.length < 8; at = at.cause) messages.push(at.message);
  return messages.join(': ');
}

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
