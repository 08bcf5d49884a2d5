/** `nodeagent logs` */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { fetchPods } from './answers.ts';
import type { ApiRequest } from './api-client.ts';
import { type Arguments, parseCount } from './arguments.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { parseSeconds } from './duration.ts';
import { UsageError } from './errors.ts';
import { findPod, parsePodName } from './find-pod.ts';
import { readLines } from './json-lines.ts';

const options = {
  follow: { type: 'boolean', short: 'f', help: 'go on as the container writes' },
  previous: { type: 'boolean', short: 'p', help: 'of the instance before the last restart' },
  container: { type: 'string', short: 'c', value: 'NAME', help: 'one of the pod’s containers (its first)' },
  'all-containers': { type: 'boolean', help: 'of every container, each line with its name' },
  prefix: { type: 'boolean', help: 'put pod and container before each line' },
  tail: { type: 'string', value: 'N', help: 'only the last N lines; -1 for all' },
  since: { type: 'string', value: 'DURATION', help: 'only of the last 30s, 5m or 1h30m' },
  'since-time': { type: 'string', value: 'TIME', help: 'only since 2006-01-02T15:04:05Z' },
  timestamps: { type: 'boolean', help: 'put the time before each line' },
  'limit-bytes': { type: 'string', value: 'N', help: 'at most N bytes' },
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'the pod’s namespace (default)' },
} as const;

type LogArguments = Arguments<keyof typeof options>;

export const command: Command = defineCommand({
  name: 'logs',
  summary: 'Prints what a container wrote.',
  usage: ['[options] POD [CONTAINER]'],
  options,
  examples: [
    ['logs web', 'of the pod’s first container'],
    ['logs -f --tail 20 web -c proxy', 'the last lines of another one, and what follows'],
    ['logs -p --since 10m web', 'the end of the instance that crashed'],
  ],
  async run(args, context) {
    const [text, second, ...more] = args.positionals;
    if (text === undefined || more.length > 0) throw new UsageError('logs needs one POD: nodeagent logs POD');
    const query = logQuery(args);
    const pod = findPod(await fetchPods(context.api), parsePodName(text, args.text('namespace')));
    const containers = chosenContainers(args, second, pod);
    const prefixed = args.has('prefix') || containers.length > 1;
    const follow = args.has('follow');
    const print = (container: string): Promise<void> =>
      printLog(context, request(pod, container, query), prefixed ? `[${podName(pod)}/${container}] ` : '');
    // Followed logs are read side by side, finished ones one after the other so that they are not mixed.
    if (follow) await Promise.all(containers.map(print));
    else for (const container of containers) await print(container);
    return 0;
  },
});

const podName = ({ metadata }: Pod): string => metadata?.name ?? '';

/** Names of containers; `-` is the pod's default one. @throws UsageError */
function chosenContainers(args: LogArguments, second: string | undefined, pod: Pod): readonly string[] {
  const named = args.text('container') ?? second;
  if (args.has('all-containers')) {
    if (named !== undefined) throw new UsageError('give either --all-containers or one container');
    const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
    return [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name);
  }
  if (named !== undefined) return [named];
  const [only, ...others] = pod.spec?.containers ?? [];
  return [only !== undefined && others.length === 0 ? only.name : '-'];
}

type LogQuery = NonNullable<ApiRequest['query']>;

/** @throws UsageError */
function logQuery(args: LogArguments): LogQuery {
  const since = args.text('since');
  const sinceTime = args.text('since-time');
  if (since !== undefined && sinceTime !== undefined) {
    throw new UsageError('give either --since or --since-time');
  }
  const tail = args.text('tail');
  const tailLines = tail === '-1' ? undefined : parseCount('--tail', tail);
  const limitBytes = parseCount('--limit-bytes', args.text('limit-bytes'));
  return {
    follow: args.has('follow') ? 'true' : undefined,
    previous: args.has('previous') ? 'true' : undefined,
    timestamps: args.has('timestamps') ? 'true' : undefined,
    tailLines: tailLines?.toString(),
    limitBytes: limitBytes?.toString(),
    sinceSeconds: since === undefined ? undefined : parseSeconds('--since', since).toString(),
    sinceTime,
  };
}

const request = (pod: Pod, container: string, query: LogQuery): ApiRequest => ({
  path: ['containerLogs', pod.metadata?.namespace ?? '', podName(pod), container],
  query,
});

/** Bytes as they are, for they may not be text; with a prefix line by line. */
async function printLog(
  { api, out, signal }: CommandContext,
  wanted: ApiRequest,
  prefix: string,
): Promise<void> {
  const stream = await api.stream({ ...wanted, signal });
  if (prefix === '') for await (const chunk of stream) await out.write(chunk);
  else for await (const line of readLines(stream)) await out.write(`${prefix}${line}\n`);
}
