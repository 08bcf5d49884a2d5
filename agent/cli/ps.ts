/** `nodeagent ps` */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { fetchPods, fetchProblems, fetchWaits } from './answers.ts';
import { parseChoice } from './arguments.ts';
import { type Command, defineCommand } from './command.ts';
import { UsageError } from './errors.ts';
import { type PodTableOptions, podHeadings, podRow } from './pod-rows.ts';
import { OBJECT_FORMATS, printObjects } from './print-objects.ts';
import { formatProblems, formatWaits } from './problem-lines.ts';
import { formatTable } from './table.ts';
import { watchPodTable } from './watch-pods.ts';

export const command: Command = defineCommand({
  name: 'ps',
  summary: 'Lists the pods, and below them every manifest that was rejected with the reason.',
  usage: ['[options]'],
  options: {
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only pods of this namespace' },
    'all-namespaces': { type: 'boolean', short: 'A', help: 'pods of all namespaces (as without -n)' },
    output: { type: 'string', short: 'o', value: 'FORMAT', help: 'wide, json, yaml or name' },
    watch: { type: 'boolean', short: 'w', help: 'go on with a line for each change' },
    'no-headers': { type: 'boolean', help: 'leave the line of headings out' },
  },
  examples: [
    ['ps', 'all pods'],
    ['ps -n web -o wide', 'those of one namespace, with node, QoS class and images'],
    ['ps -w', 'and every change from now on'],
  ],
  async run(args, { api, out, clock, signal }) {
    if (args.positionals.length > 0) throw new UsageError('ps takes no names; try: nodeagent get pods NAME');
    const namespace = args.has('all-namespaces') ? undefined : args.text('namespace');
    const output = args.text('output');
    const format = output === undefined ? undefined : parseChoice('--output', output, OBJECT_FORMATS);
    const options: PodTableOptions = { wide: format === 'wide', withNamespace: namespace === undefined };
    const isWanted = (pod: Pod): boolean => namespace === undefined || pod.metadata?.namespace === namespace;
    if (args.has('watch')) {
      if (format !== undefined && format !== 'wide') throw new UsageError('--watch goes only with -o wide');
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
