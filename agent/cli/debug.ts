/** `nodeagent debug` */
import type { EphemeralContainer, Pod } from '#api/schema/gen/core-v1.ts';
import { fetchPods } from './answers.ts';
import { ApiError } from './api-client.ts';
import type { Arguments } from './arguments.ts';
import { attachTo } from './attach.ts';
import { awaitEnd, awaitStart } from './await-container.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { UsageError } from './errors.ts';
import { DEFAULT_NAMESPACE, findPod, parsePodName } from './find-pod.ts';
import { chooseStreams, type SessionStreams } from './session.ts';

const options = {
  image: { type: 'string', value: 'IMAGE', help: 'what the container is made from' },
  stdin: { type: 'boolean', short: 'i', help: 'pass standard input on' },
  tty: { type: 'boolean', short: 't', help: 'give the command a terminal' },
  target: { type: 'string', value: 'NAME', help: 'see the processes of this container' },
  name: { type: 'string', value: 'NAME', help: 'of the new container (debugger-1, debugger-2…)' },
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'the pod’s namespace (default)' },
} as const;

export const command: Command = defineCommand({
  name: 'debug',
  summary: 'Adds a container to a pod that runs. It is started once and stays until the pod ends.',
  usage: ['[options] POD --image=IMAGE [-- COMMAND [ARGUMENT…]]'],
  options,
  hint: 'the command and its own options go behind --',
  examples: [
    ['debug -it web --image=busybox', 'a shell beside the pod’s containers'],
    ['debug -it web --image=busybox --target=app -- ps', 'the processes of the container app'],
    ['debug web --image=tcpdump -- tcpdump -i eth0', 'goes on by itself; nodeagent logs shows its output'],
  ],
  async run(args, context) {
    const { api, out, signal } = context;
    const request = debugArguments(args);
    const streams = await chooseStreams({ stdin: args.has('stdin'), tty: args.has('tty') }, context);
    const pod = findPod(await fetchPods(api), parsePodName(request.pod, args.text('namespace')));
    const container = debugContainer(pod, { ...request, streams });
    const { name: podName = '', namespace = '' } = pod.metadata ?? {};
    await api.json({
      method: 'POST',
      path: ['pods', namespace, podName, 'ephemeralcontainers'],
      body: JSON.stringify(container),
      signal,
    });
    if (streams.stdin || streams.tty)
      return runAttached({ pod, container: container.name, streams }, context);
    await awaitStart(api, pod, container.name, signal);
    const where = namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`;
    await out.write(
      `container ${container.name} was started; what it prints: nodeagent logs ${podName}${where} -c ${container.name}\n`,
    );
    return 0;
  },
});

export interface DebugRequest {
  readonly pod: string;
  readonly image: string;
  readonly name: string | undefined;
  readonly target: string | undefined;
  /** Empty for the image's own command. */
  readonly argv: readonly string[];
}

/** @throws UsageError */
function debugArguments(args: Arguments<keyof typeof options>): DebugRequest {
  const [pod, ...words] = args.positionals;
  if (pod === undefined) throw new UsageError('debug needs a POD: nodeagent debug POD --image=IMAGE');
  if (words.length > 0) throw new UsageError('the command goes behind --');
  const image = args.text('image') ?? '';
  if (image === '') throw new UsageError('debug needs --image=IMAGE');
  return { pod, image, name: args.text('name'), target: args.text('target'), argv: args.rest ?? [] };
}

/** The container that the person means. Pure. */
export function debugContainer(
  pod: Pod,
  { image, name, target, argv, streams }: DebugRequest & { readonly streams: SessionStreams },
): EphemeralContainer {
  const { stdin, tty } = streams;
  return {
    name: name ?? freeName(pod),
    image,
    ...(argv.length === 0 ? {} : { command: argv }),
    ...(target === undefined ? {} : { targetContainerName: target }),
    ...(stdin ? { stdin } : {}),
    ...(tty ? { tty } : {}),
    // The end of piped input is an end; a terminal can be left and joined again.
    ...(stdin && !tty ? { stdinOnce: true } : {}),
  };
}

function freeName({ spec }: Pod): string {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  const taken = new Set([...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name));
  let number = 1;
  while (taken.has(`debugger-${number}`)) number += 1;
  return `debugger-${number}`;
}

interface Attached {
  readonly pod: Pod;
  readonly container: string;
  readonly streams: SessionStreams;
}

/** @returns the exit code of the container, or 0 when the person left it */
async function runAttached(target: Attached, context: CommandContext): Promise<number> {
  const { api, err, signal } = context;
  const { pod, container } = target;
  const state = await awaitStart(api, pod, container, signal);
  const session = state.terminated === undefined ? await tryAttach(target, context) : 'ended';
  if (session === 'ended') await printLog(target, context);
  if (session === 'left') {
    await err.write(`\ncontainer ${container} goes on: nodeagent attach joins it again\n`);
    return 0;
  }
  return awaitEnd(api, pod, container, signal);
}

/** A container that ended before it could be joined has only its log to show. */
async function tryAttach(target: Attached, context: CommandContext): Promise<'over' | 'left' | 'ended'> {
  try {
    const { detached } = await attachTo(target, context);
    return detached ? 'left' : 'over';
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.reason === 'BadRequest') return 'ended';
    throw thrown;
  }
}

async function printLog({ pod, container }: Attached, { api, out, signal }: CommandContext): Promise<void> {
  const { name = '', namespace = '' } = pod.metadata ?? {};
  const log = await api.stream({ path: ['containerLogs', namespace, name, container], signal });
  for await (const chunk of log) await out.write(chunk);
}
