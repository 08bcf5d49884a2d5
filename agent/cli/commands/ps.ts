/** `nodeagent ps` */
import { fetchProblems, fetchWaits } from '../client/responses.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { fetchListed } from '../listing/lists.ts';
import { LIST_OPTIONS, readListOptions } from '../listing/options.ts';
import { watchListed } from '../listing/watch.ts';
import { cellPainter } from '../output/colors.ts';
import { printObjects } from '../output/print.ts';
import { formatProblems, formatWaits } from '../views/problem-lines.ts';
import { formatTable } from '../views/table.ts';

const PODS = { kind: 'Pod', names: [] } as const;

export const command: Command = defineCommand({
  name: 'ps',
  summary: 'Lists the pods, followed by rejected manifests with the reason for each.',
  usage: ['[options]'],
  options: LIST_OPTIONS,
  examples: [
    ['ps', 'list all pods'],
    ['ps -n web -o wide', 'pods of one namespace, with node, QoS class and images'],
    ['ps -l app=web --field-selector status.phase=Running', 'pods with a label that run'],
    ['ps -w', 'list all pods, then every change'],
  ],
  async run(args, context) {
    if (args.positionals.length > 0)
      throw new UsageError('ps takes no arguments; try: nodeagent get pods NAME');
    const options = readListOptions(args);
    if (options.watch) {
      await watchListed([PODS], options, context);
      return 0;
    }
    const { api, out, clock } = context;
    const { namespace, format, headings } = options;
    const list = await fetchListed(api, PODS, options, clock.now());
    if (format.kind !== 'table') {
      await printObjects(out, format, list.objects, { single: false, headings });
      return 0;
    }
    const table = formatTable(list.headings, list.rows, cellPainter(context));
    if (list.rows.length === 0)
      await out.write(namespace === undefined ? 'no pods\n' : `no pods in ${namespace}\n`);
    else await out.write(headings ? table : table.slice(table.indexOf('\n') + 1));
    const problems = formatProblems(await fetchProblems(api));
    const waits = formatWaits(await fetchWaits(api), clock.now());
    if (problems + waits !== '') await out.write(`\n${problems}${waits}`);
    return 0;
  },
});
