/** `nodeagent attach` */
import type { Pod } from '#api/gen/core-v1.ts';
import type { RemoteCommandResult } from '#cri/streaming/session.ts';
import { CONTAINER_OPTION, NAMESPACE_OPTION } from '../args/pod-options.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { chooseStreams, fetchSessionUrl, runSession, type SessionStreams } from '../containers/session.ts';
import { UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';

export const command: Command = defineCommand({
  name: 'attach',
  summary: 'Attaches to the main process of a container. The process keeps running after you detach.',
  usage: ['[options] POD'],
  options: {
    stdin: {
      type: 'boolean',
      short: 'i',
      help: 'pass standard input to the container (requires stdin: true in its spec)',
    },
    tty: {
      type: 'boolean',
      short: 't',
      help: 'use the terminal of the container (requires tty: true in its spec)',
    },
    container: CONTAINER_OPTION,
    namespace: NAMESPACE_OPTION,
  },
  examples: [
    ['attach web', 'follow its output'],
    ['attach -it web -c debugger-1', 'use its terminal; Ctrl-] detaches'],
  ],
  async run(args, context) {
    const [text, ...others] = args.positionals;
    if (text === undefined || others.length > 0) throw new UsageError('attach requires one POD');
    const streams = await chooseStreams({ stdin: args.has('stdin'), tty: args.has('tty') }, context);
    const pod = findPod(await fetchPods(context.api), parsePodName(text, args.text('namespace')));
    const { exitCode } = await attachTo({ pod, container: args.text('container'), streams }, context);
    return exitCode;
  },
});

export interface AttachTarget {
  readonly pod: Pod;
  /** Defaults to the default container of the pod. */
  readonly container: string | undefined;
  readonly streams: SessionStreams;
}

/** Runs until the container ends or the user detaches. @throws ApiError, AgentUnreachableError, CommandError */
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
  if (stdin && tty) await err.write('Press Ctrl-] to detach. If you do not see a prompt, press Enter.\n');
  const failure = 'cannot attach to the container';
  return runSession({ url, ...streams, joins: true, failure }, context);
}
