/** `nodeagent exec` */

import type { Pod } from '#api/gen/core-v1.ts';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Arguments } from '../args/arguments.ts';
import { CONTAINER_OPTION, NAMESPACE_OPTION } from '../args/pod-options.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { chooseStreams, fetchSessionUrl, runSession, type SessionStreams } from '../containers/session.ts';
import { type ExecSettings, invalidVariable, wrapCommand } from '../containers/wrap-command.ts';
import { ExitError, UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { printable } from '../views/table.ts';
import { decideExecFailure } from './exec-failure.ts';

const options = {
  stdin: { type: 'boolean', short: 'i', help: 'pass standard input to the container' },
  tty: { type: 'boolean', short: 't', help: 'allocate a terminal' },
  container: CONTAINER_OPTION,
  user: {
    type: 'string',
    short: 'u',
    value: 'USER[:GROUP]',
    help: 'run as this user; needs a shell in the image',
  },
  workdir: {
    type: 'string',
    short: 'w',
    value: 'DIR',
    help: 'run in this directory; needs a shell in the image',
  },
  env: {
    type: 'string',
    short: 'e',
    multiple: true,
    value: 'NAME=VALUE',
    help: 'set a variable; may be repeated; needs a shell in the image',
  },
  detach: {
    type: 'boolean',
    short: 'd',
    help: 'run in the background, without output; needs a shell in the image',
  },
  namespace: NAMESPACE_OPTION,
} as const;

export const command: Command = defineCommand({
  name: 'exec',
  summary:
    'Runs a command in a container and exits with its exit code, or with 125 if nodeagent failed, 126 if the command\n' +
    '  cannot be executed, 127 if it is not found.',
  usage: ['[options] POD -- COMMAND [ARGUMENT…]'],
  options,
  hint: 'put the command and its options after --',
  examples: [
    ['exec web -- ls -l /', 'print the output of a command'],
    ['exec -it web -- sh', 'a shell'],
    ['exec -u app -w /srv -e DEBUG=1 web -- ./check', 'as another user, in a directory, with a variable'],
    ['exec -i web -c proxy -- sh -c "cat > /tmp/x" < x', 'copy a file into another container'],
  ],
  async run(args, context) {
    const { pod: text, argv } = execArguments(args);
    const wrapped = wrapCommand(execSettings(args), argv);
    const wanted = { stdin: args.has('stdin'), tty: args.has('tty') };
    const name = parsePodName(text, args.text('namespace'));
    try {
      const streams = await chooseStreams(wanted, context);
      const pod = findPod(await fetchPods(context.api), name);
      return await execIn({ pod, container: args.text('container'), argv: wrapped, streams }, context);
    } catch (thrown) {
      const failure = decideExecFailure(messagesOf(thrown));
      if (failure !== undefined) {
        await context.err.write(`nodeagent: ${printable(failure.message)}\n`);
        return failure.exitCode;
      }
      // The output has no reader, or the user interrupted: neither is a failure of this program.
      if (context.signal.aborted || hasCode(thrown, 'EPIPE')) throw thrown;
      throw new ExitError(EXEC_FAILED, asError(thrown));
    }
  },
});

/** As docker: the command did not run, for a reason outside of the container. */
const EXEC_FAILED = 125;

interface ExecRequest {
  readonly pod: Pod;
  readonly container: string | undefined;
  readonly argv: readonly string[];
  readonly streams: SessionStreams;
}

async function execIn(
  { pod, container, argv, streams }: ExecRequest,
  context: CommandContext,
): Promise<number> {
  const { stdin, tty } = streams;
  const url = await fetchSessionUrl(context.api, {
    path: ['exec', pod.metadata?.namespace ?? '', pod.metadata?.name ?? ''],
    query: { container, command: argv, stdin: String(stdin), tty: String(tty) },
    signal: context.signal,
  });
  const session = { url, ...streams, joins: false, failure: 'cannot run the command' };
  return (await runSession(session, context)).exitCode;
}

/** @throws UsageError */
function execSettings(args: Arguments<keyof typeof options>): ExecSettings {
  const env = args.texts('env');
  const invalid = invalidVariable(env);
  if (invalid !== undefined) {
    throw new UsageError(`--env: invalid value ${JSON.stringify(invalid)}: must be NAME=VALUE`);
  }
  const detach = args.has('detach');
  if (detach && (args.has('stdin') || args.has('tty'))) {
    throw new UsageError('use either --detach or --stdin and --tty');
  }
  return { user: args.text('user'), workdir: args.text('workdir'), env, detach };
}

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
