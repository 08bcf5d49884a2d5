/** `nodeagent logs` */
import type { Pod } from '#api/gen/core-v1.ts';
import { type Arguments, parseCount } from '../args/arguments.ts';
import { parseSeconds } from '../args/duration.ts';
import { CONTAINER_OPTION, NAMESPACE_OPTION } from '../args/pod-options.ts';
import type { ApiRequest, LocalApi } from '../client/api-client.ts';
import { readLines } from '../client/json-lines.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { createSelector } from '../output/select.ts';

/** Each followed log is a connection to the agent. */
const DEFAULT_FOLLOWED = 20;

const options = {
  follow: { type: 'boolean', short: 'f', help: 'follow the log' },
  previous: { type: 'boolean', short: 'p', help: 'print the log of the previous instance of the container' },
  container: CONTAINER_OPTION,
  'all-containers': {
    type: 'boolean',
    help: 'print the logs of all containers, each line with a container prefix',
  },
  selector: { type: 'string', short: 'l', value: 'SELECTOR', help: 'logs of all pods with these labels' },
  'max-log-requests': {
    type: 'string',
    value: 'N',
    help: `most logs to follow at once (${DEFAULT_FOLLOWED})`,
  },
  prefix: { type: 'boolean', help: 'prefix each line with pod and container' },
  tail: { type: 'string', value: 'N', help: 'only the last N lines; -1 for all lines' },
  since: {
    type: 'string',
    value: 'DURATION',
    help: 'only lines newer than a duration such as 30s, 5m or 1h30m',
  },
  'since-time': {
    type: 'string',
    value: 'TIME',
    help: 'only lines after a time such as 2006-01-02T15:04:05Z',
  },
  timestamps: { type: 'boolean', help: 'prefix each line with its time' },
  'limit-bytes': { type: 'string', value: 'N', help: 'at most N bytes' },
  namespace: NAMESPACE_OPTION,
} as const;

type LogArguments = Arguments<keyof typeof options>;

export const command: Command = defineCommand({
  name: 'logs',
  summary: 'Prints the logs of containers. Lines of several pods or containers have a prefix.',
  usage: ['[options] POD [CONTAINER]', '[options] -l SELECTOR'],
  options,
  examples: [
    ['logs web', 'log of the first container'],
    ['logs -f --tail 20 web -c proxy', 'follow the log of container proxy from its last 20 lines'],
    ['logs -f -l app=web --all-containers', 'follow all containers of all pods with a label'],
    ['logs -p --since 10m web', 'end of the log of the crashed instance'],
  ],
  async run(args, context) {
    const query = logQuery(args);
    const logs = await chosenLogs(args, context.api);
    const prefixed = args.has('prefix') || logs.length > 1;
    const follow = args.has('follow');
    const most = parseCount('--max-log-requests', args.text('max-log-requests')) ?? DEFAULT_FOLLOWED;
    if (follow && logs.length > most) {
      throw new CommandError(`${logs.length} logs are selected, more than ${most}: use --max-log-requests`);
    }
    const print = ({ pod, container }: ChosenLog): Promise<void> =>
      printLog(context, request(pod, container, query), prefixed ? `[${podName(pod)}/${container}] ` : '');
    // Followed logs are read concurrently; others one after the other so that lines do not mix.
    if (follow) await Promise.all(logs.map(print));
    else for (const log of logs) await print(log);
    return 0;
  },
});

interface ChosenLog {
  readonly pod: Pod;
  readonly container: string;
}

/** @throws UsageError, CommandError */
async function chosenLogs(args: LogArguments, api: LocalApi): Promise<readonly ChosenLog[]> {
  const [text, second, ...more] = args.positionals;
  const labels = args.text('selector');
  const namespace = args.text('namespace');
  if (more.length > 0 || (text === undefined) === (labels === undefined)) {
    throw new UsageError('logs requires one POD or -l SELECTOR: nodeagent logs POD');
  }
  const all = await fetchPods(api);
  if (text !== undefined) {
    const pod = findPod(all, parsePodName(text, namespace));
    return chosenContainers(args, second, pod).map((container) => ({ pod, container }));
  }
  const isSelected = createSelector('Pod', { labels, fields: undefined });
  const pods = all.filter(
    (pod) => isSelected(pod) && (namespace === undefined || pod.metadata?.namespace === namespace),
  );
  if (pods.length === 0) throw new CommandError('no pods are selected');
  return pods.flatMap((pod) =>
    chosenContainers(args, undefined, pod).map((container) => ({ pod, container })),
  );
}

const podName = ({ metadata }: Pod): string => metadata?.name ?? '';

/** Returns container names; `-` is the default container of the pod. @throws UsageError */
function chosenContainers(args: LogArguments, second: string | undefined, pod: Pod): readonly string[] {
  const named = args.text('container') ?? second;
  if (args.has('all-containers')) {
    if (named !== undefined) throw new UsageError('use either --all-containers or one container');
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
    throw new UsageError('use either --since or --since-time');
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

/** Writes bytes unchanged, since they may not be text; with a prefix, writes line by line. */
async function printLog(
  { api, out, signal }: CommandContext,
  wanted: ApiRequest,
  prefix: string,
): Promise<void> {
  const stream = await api.stream({ ...wanted, signal });
  if (prefix === '') for await (const chunk of stream) await out.write(chunk);
  else for await (const line of readLines(stream)) await out.write(`${prefix}${line}\n`);
}
