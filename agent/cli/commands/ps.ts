/** `nodeagent ps` */
import type { Pod } from '#api/gen/core-v1.ts';
import { parseChoice } from '../args/arguments.ts';
import { fetchPods, fetchProblems, fetchWaits } from '../client/responses.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { type PodTableOptions, podHeadings, podRow } from '../views/pod-rows.ts';
import { OBJECT_FORMATS, printObjects } from '../views/print-objects.ts';
import { formatProblems, formatWaits } from '../views/problem-lines.ts';
import { formatTable } from '../views/table.ts';
import { watchPodTable } from './watch-pods.ts';

export const command: Command = defineCommand({
  name: 'ps',
  summary: 'Lists the pods, followed by rejected manifests with the reason for each.',
  usage: ['[options]'],
  options: {
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only pods of this namespace' },
    'all-namespaces': {
      type: 'boolean',
      short: 'A',
      help: 'pods of all namespaces (the default without -n)',
    },
    output: { type: 'string', short: 'o', value: 'FORMAT', help: 'wide, json, yaml or name' },
    watch: { type: 'boolean', short: 'w', help: 'print a line for each change' },
    'no-headers': { type: 'boolean', help: 'omit the headings' },
  },
  examples: [
    ['ps', 'list all pods'],
    ['ps -n web -o wide', 'pods of one namespace, with node, QoS class and images'],
    ['ps -w', 'list all pods, then every change'],
  ],
  async run(args, { api, out, clock, signal }) {
    if (args.positionals.length > 0)
      throw new UsageError('ps takes no arguments; try: nodeagent get pods NAME');
    const namespace = args.has('all-namespaces') ? undefined : args.text('namespace');
    const output = args.text('output');
    const format = output === undefined ? undefined : parseChoice('--output', output, OBJECT_FORMATS);
    const options: PodTableOptions = { wide: format === 'wide', withNamespace: namespace === undefined };
    const isWanted = (pod: Pod): boolean => namespace === undefined || pod.metadata?.namespace === namespace;
    if (args.has('watch')) {
      if (format !== undefined && format !== 'wide') throw new UsageError('--watch supports only -o wide');
      await watchPodTable({ api, out, clock, signal }, options, isWanted);
      return 0;
    }
    const pods = (await fetchPods(api)).filter(isWanted);
    if (format !== undefined && format !== 'wide') {
      await printObjects(out, format, pods, false);
      return 0;
    }
    const rows = pods.map((pod) => podRow(pod, options, clock.now()));
    const table = formatTable(podHeadings(options), rows);
    const problems = formatProblems(await fetchProblems(api));
    const lines = args.has('no-headers') ? table.slice(table.indexOf('\n') + 1) : table;
    if (rows.length === 0)
      await out.write(namespace === undefined ? 'no pods\n' : `no pods in ${namespace}\n`);
    else await out.write(lines);
    const waits = formatWaits(await fetchWaits(api), clock.now());
    if (problems + waits !== '') await out.write(`\n${problems}${waits}`);
    return 0;
  },
});
