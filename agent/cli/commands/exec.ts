/** `nodeagent exec` */

import type { Arguments } from '../args/arguments.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { printable } from '../views/table.ts';
import { decideExecFailure } from './exec-failure.ts';
import { chooseStreams, fetchSessionUrl, runSession } from './session.ts';

const options = {
  stdin: { type: 'boolean', short: 'i', help: 'pass standard input to the container' },
  tty: { type: 'boolean', short: 't', help: 'allocate a terminal' },
  container: {
    type: 'string',
    short: 'c',
    value: 'NAME',
    help: 'container name (the first container by default)',
  },
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the pod (default)' },
} as const;

export const command: Command = defineCommand({
  name: 'exec',
  summary: 'Runs a command in a container and exits with its exit code.',
  usage: ['[options] POD -- COMMAND [ARGUMENT…]'],
  options,
  hint: 'put the command and its options after --',
  examples: [
    ['exec web -- ls -l /', 'print the output of a command'],
    ['exec -it web -- sh', 'a shell'],
    ['exec -i web -c proxy -- sh -c "cat > /tmp/x" < x', 'copy a file into another container'],
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
    const session = { url, ...streams, joins: false, failure: 'cannot run the command' };
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
  const [pod, ...extra] = positionals;
  const argv = rest === undefined ? extra : rest;
  if (pod === undefined)
    throw new UsageError('exec requires a POD and a command: nodeagent exec POD -- COMMAND');
  if (rest !== undefined && extra.length > 0) throw new UsageError('put the command after --');
  if (argv.length === 0) throw new UsageError('exec requires a command: nodeagent exec POD -- COMMAND');
  return { pod, argv };
}
