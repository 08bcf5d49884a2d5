/** `nodeagent debug` */
import type { EphemeralContainer, Pod } from '#api/gen/core-v1.ts';
import type { Arguments } from '../args/arguments.ts';
import { NAMESPACE_OPTION } from '../args/pod-options.ts';
import { ApiError } from '../client/api-client.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { chooseStreams, type SessionStreams } from '../containers/session.ts';
import { UsageError } from '../errors.ts';
import { DEFAULT_NAMESPACE, findPod, parsePodName } from '../listing/find-pod.ts';
import { attachTo } from './attach.ts';
import { awaitEnd, awaitStart } from './await-container.ts';

const options = {
  image: { type: 'string', value: 'IMAGE', help: 'image of the container' },
  stdin: { type: 'boolean', short: 'i', help: 'pass standard input to the container' },
  tty: { type: 'boolean', short: 't', help: 'allocate a terminal' },
  target: { type: 'string', value: 'NAME', help: 'share the process namespace of this container' },
  name: { type: 'string', value: 'NAME', help: 'name of the new container (debugger-1, debugger-2…)' },
  namespace: NAMESPACE_OPTION,
} as const;

export const command: Command = defineCommand({
  name: 'debug',
  summary:
    'Adds an ephemeral container to a running pod. It starts once and remains until the pod is deleted.',
  usage: ['[options] POD --image=IMAGE [-- COMMAND [ARGUMENT…]]'],
  options,
  hint: 'put the command and its options after --',
  examples: [
    ['debug -it web --image=busybox', 'run a shell next to the containers of the pod'],
    ['debug -it web --image=busybox --target=app -- ps', 'list the processes of container app'],
    [
      'debug web --image=tcpdump -- tcpdump -i eth0',
      'run in the background; nodeagent logs shows its output',
    ],
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
      `container ${container.name} started; to see its output: nodeagent logs ${podName}${where} -c ${container.name}\n`,
    );
    return 0;
  },
});

export interface DebugRequest {
  readonly pod: string;
  readonly image: string;
  readonly name: string | undefined;
  readonly target: string | undefined;
  /** Empty for the default command of the image. */
  readonly argv: readonly string[];
}

/** @throws UsageError */
function debugArguments(args: Arguments<keyof typeof options>): DebugRequest {
  const [pod, ...extra] = args.positionals;
  if (pod === undefined) throw new UsageError('debug requires a POD: nodeagent debug POD --image=IMAGE');
  if (extra.length > 0) throw new UsageError('put the command after --');
  const image = args.text('image') ?? '';
  if (image === '') throw new UsageError('debug requires --image=IMAGE');
  return { pod, image, name: args.text('name'), target: args.text('target'), argv: args.rest ?? [] };
}

/** Builds the ephemeral container from the arguments. Pure. */
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
    // The end of piped input ends the session; a session at a terminal can be detached and resumed.
    ...(stdin && !tty ? { stdinOnce: true } : {}),
  };
}

function freeName({ spec }: Pod): string {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  const used = new Set([...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name));
  let number = 1;
  while (used.has(`debugger-${number}`)) number += 1;
  return `debugger-${number}`;
}

interface Attached {
  readonly pod: Pod;
  readonly container: string;
  readonly streams: SessionStreams;
}

/** @returns the exit code of the container, or 0 when the user detached */
async function runAttached(target: Attached, context: CommandContext): Promise<number> {
  const { api, err, signal } = context;
  const { pod, container } = target;
  const state = await awaitStart(api, pod, container, signal);
  const session = state.terminated === undefined ? await tryAttach(target, context) : 'ended';
  if (session === 'ended') await printLog(target, context);
  if (session === 'left') {
    await err.write(`\ncontainer ${container} keeps running; use nodeagent attach to return to it\n`);
    return 0;
  }
  return awaitEnd(api, pod, container, signal);
}

/** A container that ended before the session started has only its log. */
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
