/** `nodeagent attach` */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { RemoteCommandResult } from '#cri/streaming/session.ts';
import { fetchPods } from './answers.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { UsageError } from './errors.ts';
import { findPod, parsePodName } from './find-pod.ts';
import { chooseStreams, fetchSessionUrl, runSession, type SessionStreams } from './session.ts';

export const command: Command = defineCommand({
  name: 'attach',
  summary: 'Joins the streams of a container’s own process; it goes on when they are left.',
  usage: ['[options] POD'],
  options: {
    stdin: { type: 'boolean', short: 'i', help: 'pass standard input on (its spec needs stdin: true)' },
    tty: { type: 'boolean', short: 't', help: 'use its terminal (its spec needs tty: true)' },
    container: { type: 'string', short: 'c', value: 'NAME', help: 'one of the pod’s containers (its first)' },
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'the pod’s namespace (default)' },
  },
  examples: [
    ['attach web', 'what it prints from now on'],
    ['attach -it web -c debugger-1', 'its terminal; Ctrl-] leaves it'],
  ],
  async run(args, context) {
    const [text, ...others] = args.positionals;
    if (text === undefined || others.length > 0) throw new UsageError('attach needs one POD');
    const streams = await chooseStreams({ stdin: args.has('stdin'), tty: args.has('tty') }, context);
    const pod = findPod(await fetchPods(context.api), parsePodName(text, args.text('namespace')));
    const { exitCode } = await attachTo({ pod, container: args.text('container'), streams }, context);
    return exitCode;
  },
});

export interface AttachTarget {
  readonly pod: Pod;
  /** The pod's default container when left out. */
  readonly container: string | undefined;
  readonly streams: SessionStreams;
}

/** Until the container ends or the person leaves. @throws ApiError, AgentUnreachableError, CommandError */
export async function attachTo(
  { pod, container, streams }: AttachTarget,
  context: CommandContext,
): Promise<RemoteCommandResult> {
  const { api, err, signal } = context;
  const { stdin, tty } = streams;
  const url = await fetchSessionUrl(api, {
    path: ['attach', pod.metadata?.namespace ?? '', pod.metadata?.name ?? ''],
    query: { container, stdin: String(stdin), tty: String(tty) },
    signal,
  });
  if (stdin && tty) await err.write('Ctrl-] leaves; if there is no prompt, try Enter\n');
  const failure = 'the container could not be attached to';
  return runSession({ url, ...streams, joins: true, failure }, context);
}
